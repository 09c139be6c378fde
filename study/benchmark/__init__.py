"""The benchmark of the field: any learner and any evaluator, on tables whose truth is known or is not."""
