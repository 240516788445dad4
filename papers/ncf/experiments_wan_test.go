package ncf_test

import (
	"context"
	"testing"

	"weir/study/claim"
	"weir/study/run"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// Each is valid; its quick variant has every scheme and both ends of each sweep, once.
func TestWideExperimentsLoad(t *testing.T) {
	for _, name := range []string{"internet", "reaction", "internet-lot", "controllers", "partial", "partial-path",
		"attack", "attack-budget"} {
		whole, quick := runtest.Load(t, library(), "ncf/"+name, spec.Options{Quick: false}),
			runtest.Load(t, library(), "ncf/"+name, spec.Options{Quick: true})
		if quick.Repeat() != 1 {
			t.Errorf("%s: quick has %d seeds", name, quick.Repeat())
		}
		for i, d := range quick.Sweep() {
			all := whole.Sweep()[i].Values
			if d.Values[0] != all[0] || d.Values[len(d.Values)-1] != all[len(all)-1] || d.Key == "scheme" &&
				len(d.Values) != len(all) {
				t.Errorf("%s: quick has %v of %v", name, d.Values, all)
			}
		}
	}
}

// quickVerdicts runs the quick variant and checks that exactly the claims named do not hold.
func quickVerdicts(t *testing.T, name string, otherwise map[string]claim.Verdict) {
	t.Helper()
	out, err := run.Execute(context.Background(), runtest.Load(t, library(), "ncf/"+
		name, spec.Options{Quick: true}), run.Options{})
	if err != nil || len(out.Failed) > 0 || out.Missing > 0 {
		t.Fatal(err, out.Failed, out.Missing)
	}
	for _, c := range out.Claims {
		want, ok := otherwise[c.ID]
		if !ok {
			want = claim.Holds
		}
		if c.Verdict != want {
			t.Errorf("%s %s, want %s: %s", c.ID, c.Verdict, want, c.Measured)
		}
	}
}

func TestReaction(t *testing.T) {
	quickVerdicts(t, "reaction", map[string]claim.Verdict{})
}

func TestControllers(t *testing.T) {
	quickVerdicts(t, "controllers", map[string]claim.Verdict{
		"controllers.own-signal":  claim.Fails, // bbr: its pacing falls with the recovery that a loss brings
		"controllers.supply-lost": claim.Fails, // dcqcn: it goes on from the offer, others from what was delivered
	})
}
