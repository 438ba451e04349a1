"""What runs plans: the shared stages and epochs, and the engines on top of them."""
