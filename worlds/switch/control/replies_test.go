package control

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRepliesAreBrief checks that a data plane's largest reply is shorter than the limit for reading one, and reports
// how much it omits.
func TestRepliesAreBrief(t *testing.T) {
	worst := strings.Repeat("<", 1<<20) // six bytes each in JSON
	large := Reply{Is: IsReloaded, Text: worst, Notes: []string{strings.Repeat("ä", maxNote)}}
	for range 5000 {
		large.Notes = append(large.Notes, worst)
	}
	for _, x := range []struct {
		name string
		Reply
	}{
		{"a text", Reply{Is: IsRefused, Text: worst}},
		{"notes", Reply{Is: IsReloaded, Notes: large.Notes}},
	} {
		t.Run(x.name, func(t *testing.T) {
			line, err := json.Marshal(x.Shorten())
			if err != nil || len(line) >= maxReply {
				t.Errorf("%d bytes, %v; %d are read", len(line), err, maxReply)
			}
		})
	}
	b := large.Shorten()
	if n := len(b.Notes); n != maxNotes+1 || b.Notes[n-1] != "and 4981 more" {
		t.Errorf("%d notes, the last: %q", n, b.Notes[n-1])
	}
	if want := strings.Repeat("ä", maxNote/2-2) + " …"; b.Notes[0] != want {
		t.Errorf("%d bytes: …%q", len(b.Notes[0]), b.Notes[0][len(b.Notes[0])-12:])
	}
	short := Reply{Is: IsReloaded, Notes: []string{"ecn starts now"}}
	if got := short.Shorten(); len(got.Notes) != 1 || got.Notes[0] != short.Notes[0] || got.Is != short.Is {
		t.Errorf("%v became %v", short, got)
	}
}

// TestRepliesAreReadToTheirEnd checks that an unreadable reply is reported as such, and the next is read.
func TestRepliesAreReadToTheirEnd(t *testing.T) {
	const last = `{"Is":"stopped","Left":3}` + "\n"
	large := `{"Is":"reloaded","Notes":["` + strings.Repeat("x", 100_000) + `"]}`
	for _, x := range []struct{ name, out, want string }{
		{"one", last, "stopped"},
		{"larger than 64 kB", large + "\n" + last, "reloaded stopped"},
		{"too long", strings.Repeat("x", 3*maxReply) + "\n" + last, "unreadable stopped"},
		{"too long by its end", strings.Repeat("x", maxReply) + "\n" + last, "unreadable stopped"},
		{"not JSON", "panic\n" + last, "unreadable stopped"},
		{"cut", last + `{"Is":"rel`, "stopped"},
		{"cut and too long", last + strings.Repeat("x", 2*maxReply), "stopped"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			ReadReplies(strings.NewReader(x.out), func(a Reply) { got = append(got, a.Is) })
			if s := strings.Join(got, " "); s != x.want {
				t.Errorf("%s, want %s", s, x.want)
			}
		})
	}
}
