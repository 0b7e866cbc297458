"""The rules, pure: same input, same output. No clock, no I/O, no framework."""
