"""The file sink: where records go, when files end, what is done with them before readers see them."""
