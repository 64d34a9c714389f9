"""How applications speak to the gateway, one file per dialect. Which model answers is no business of any of them."""
