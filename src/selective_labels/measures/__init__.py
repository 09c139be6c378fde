"""What is judged and by what: classifiers seen through the classes of the data, and metrics of them."""
