"""What a check-up looks at, from the files of this machine to the products of the site."""
