package preflight

import (
	"testing"
)

// FuzzParseRecord_GivesValidChanges checks that a truncated or invalid record is read as far as possible.
func FuzzParseRecord_GivesValidChanges(f *testing.F) {
	f.Add("owner 12 4026531840\nport eth1\noffload eth1 2 tso\noffload eth1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, x := range parseRecord(text).Changes {
			if x.Index <= 0 || x.Interface == "" || x.Offload == "" {
				t.Errorf("%+v", x)
			}
		}
	})
}

func TestParseRecord_SkipsMalformedLines(t *testing.T) {
	r := parseRecord("owner 12 4026531840\nport eth1\noffload eth1 2 tso\noffload eth1 -3 gso\noffload eth1")
	if r.owner != 12 || r.namespace != 4026531840 || len(r.ports) != 1 || len(r.Changes) != 1 ||
		r.Changes[0] != (Change{"eth1", "tso", 2}) {
		t.Errorf("%+v", r)
	}
}
