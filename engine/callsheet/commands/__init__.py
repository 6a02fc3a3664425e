"""What commands do: steps, sign-in, the check-up."""
