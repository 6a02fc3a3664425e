"""The screen of a program: lists, things, boards and commands to move in, by Textual."""
