package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// universal matches the words by which a claim speaks of each user, flow or run.
var universal = regexp.MustCompile(`(?i)\b(nobody|never|` +
	`no (user|flow|sender|client|host|queue|packet|frame|elephant|mouse|call)|(each|every|any) run)\b`)

// TestClaimsOfEachRun: a comparison is of means over the seeds, so what one run does can be hidden. A claim about each
// run has comparisons by == and != alone, which hold only where each run has them, or says that it is about averages.
func TestClaimsOfEachRun(t *testing.T) {
	found := 0
	for _, x := range Registry().Experiments() {
		src, err := Registry().Open(x.Name)
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
			if !universal.MatchString(c.Says) {
				continue
			}
			found++
			if strings.ContainsAny(c.That, "<>") && !strings.Contains(c.Says, "on average") {
				t.Errorf("%s: %s claims %q and compares means by %q; compare by == or write \"on average\"", x.Name, c.ID,
					c.Says, c.That)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d claims about each run; the words are others", found)
	}
}
