"""Where private tables lie, and how they are read a block at a time: files, folders, object stores, databases."""
