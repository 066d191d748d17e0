"""Commands for developers: each writes a page or file from the code, or checks that it is fresh."""
