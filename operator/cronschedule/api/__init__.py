"""Words and shapes that users see. No I/O, no rules."""
