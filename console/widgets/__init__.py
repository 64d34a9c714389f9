"""The few widgets of our own: lists and tables drawn line by line, and bars. They draw lines of the view and know no engine."""
