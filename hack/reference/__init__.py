"""docs/reference.md: every field, condition, reason and Event, from the places where the operator has them."""
