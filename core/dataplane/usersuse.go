package dataplane

import "weir/core/dataplane/users"

// UserStage returns the footprint of finding the user of a packet: a table of prefixes, and one of sources with the
// operation that makes a source a user at its first packet.
func UserStage(t *users.Table) Stage {
	prefixes, sources := t.KeyCounts()
	s := Stage{Name: "user of the source", Gress: InIngress}
	if prefixes > 0 {
		s.Tables = append(s.Tables, TableUse{Name: "aggregates", Match: MatchPrefix, Entries: prefixes, Key: 128,
			Action: IndexBits(t.MaxUsers()) + 64})
	}
	if sources > 0 {
		s.Tables = append(s.Tables, TableUse{Name: "sources", Entries: sources, Key: 128, Action: IndexBits(t.MaxUsers())})
		s.Operations = append(s.Operations, Operation{Kind: WritingTables, What: "a source's first packet makes it a user",
			Times: 1})
	}
	return s
}
