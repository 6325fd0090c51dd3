"""What the functions, the command line and the tests share."""
