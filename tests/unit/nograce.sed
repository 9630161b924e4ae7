# Uses a block again while a reader may still be in it.
s/drop(t, old, true);/drop(t, old, false);/
