"""The paper's experiments by its own text, with controls: what each method really gains."""
