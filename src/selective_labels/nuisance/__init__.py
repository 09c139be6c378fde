"""Cross-fitted models of decision, label and assignment, and the scores made from them."""
