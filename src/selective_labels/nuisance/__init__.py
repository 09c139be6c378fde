"""Cross-fitted nuisance models of decision, label and assignment, and the scores computed from them."""
