"""Where time moves: two engines of one meaning, and what they measure."""
