"""The forms of messages, under PyFlink's module paths."""
