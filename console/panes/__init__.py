"""The four panes of the live screen. Each turns a frame into rows of one list; none reaches the engine or knows its neighbours."""
