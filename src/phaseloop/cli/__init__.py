"""The terminal face: live view, plain lines, gate prompts, result card."""
