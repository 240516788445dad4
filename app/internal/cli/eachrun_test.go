package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// quantifier matches the words by which a claim speaks of each user, flow, point or run, or limits them all. No word of
// the names in schemeNames is one: "a queue for each user" is a scheduler.
var (
	quantifier = regexp.MustCompile(`(?i)\b(nobody|never|always|whoever|no more than|(each|every|any) [a-z]\w*|` +
		`no (user|flow|sender|client|host|queue|packet|frame|elephant|mouse|call|setting|value|scheme))\b`)
	schemeNames = regexp.MustCompile(`(?i)\b(queues?|one|hash|group) (for|of) each (user|flow|flowlet|event)\b|` +
		`\bfor each \d+ bytes\b|\beach other\b`)
)

// speaksOfEach reports whether a claim's text has a quantifier.
func speaksOfEach(says string) bool {
	return quantifier.MatchString(schemeNames.ReplaceAllString(strings.Join(strings.Fields(says), " "), ""))
}

// TestClaimsOfEachRun checks claims about each user, point or run. A comparison uses means over the seeds, which
// can hide a single run. Such a claim uses only == and !=, which hold only if each run has equal values, or its
// text mentions averages.
func TestClaimsOfEachRun(t *testing.T) {
	found := 0
	for _, x := range Registry().Experiments() {
		src, err := Registry().OpenExperiment(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Expect []struct{ ID, Says, That string }
		}
		if err := yaml.Unmarshal(src.Data, &file); err != nil {
			t.Fatalf("%s: %v", x.Name, err)
		}
		for _, c := range file.Expect {
			if !speaksOfEach(c.Says) {
				continue
			}
			found++
			if strings.ContainsAny(c.That, "<>") && !strings.Contains(c.Says, "on average") {
				t.Errorf("%s: %s claims %q and compares means by %q; compare by == or write \"on average\"", x.Name, c.ID,
					c.Says, c.That)
			}
		}
	}
	if found < 60 {
		t.Errorf("%d claims about each user, point or run; the words are others", found)
	}
}

// TestSpeaksOfEach checks which texts count as claims about each user, point or run, and which names only look like
// them.
func TestSpeaksOfEach(t *testing.T) {
	for says, want := range map[string]bool{
		"a customer gets no more than its plan":                                       true,
		"between users every value leaves Jain's index at 0.98":                       true,
		"no setting of an AQM brings the users together":                              true,
		"TCP gets at least 12 Mb/s at every R0":                                       true,
		"the link is always full":                                                     true,
		"each\n  of them gets a half":                                                 true,
		"the link carries as much as with a queue for each user":                      false,
		"1/256 for each 5000 bytes makes it larger, with a hash of each flowlet, too": false,
	} {
		if speaksOfEach(says) != want {
			t.Errorf("%q: %v", says, !want)
		}
	}
}
