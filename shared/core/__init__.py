"""Pure decisions: time, ids and chance come in as arguments; nothing here touches the world."""
