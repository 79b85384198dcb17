"""Where pods wait and what wakes them: pure state machines over an explicit clock. No input or output."""
