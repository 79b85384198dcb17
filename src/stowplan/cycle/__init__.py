"""One scheduling attempt, from a View to a Decision: sample, filter, score, choose, preempt. Pure."""
