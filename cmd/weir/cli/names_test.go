package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/internal/testutil"
	"weir/study/plan"
	"weir/study/spec"
)

var (
	allowedNames = regexp.MustCompile(`(?m)allowed: (.*)$`)
	moreNames    = regexp.MustCompile(`^… and (\d+) more$`)
)

// errorOf returns the error of the valid experiment with one edit.
func errorOf(t *testing.T, r *spec.Registry, old, now string) string {
	t.Helper()
	text := edit(t, valid, []string{old, now})
	_, err := plan.Load(r, &spec.Source{Name: "x", File: "x.yaml", Data: []byte(text)}, spec.Options{})
	if err == nil {
		t.Fatalf("%s is accepted", now)
	}
	return err.Error()
}

// An unknown name's error lists names of the registry, and counts those that it leaves out. Golden files have no such
// lists, so that a new name changes none of them.
func TestListsOfNames(t *testing.T) {
	r := Registry()
	var programs, transports, controllers []string
	for _, p := range r.Programs {
		programs = append(programs, p.Name)
	}
	for _, x := range r.Transports {
		transports = append(transports, x.Name)
	}
	for _, c := range r.Controllers {
		controllers = append(controllers, c.Name)
	}
	for _, x := range []struct {
		name, old, now string
		known          []string
	}{
		{"program", "[forward]", "[foward]", programs},
		{"transport", "transport: udp", "transport: utp", transports},
		{"congestion controller", "cc: cubic", "cc: cubik", controllers},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := errorOf(t, r, x.old, x.now)
			m := allowedNames.FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("no list: %s", text)
			}
			listed := 0
			for _, name := range strings.Split(m[1], ", ") {
				if more := moreNames.FindStringSubmatch(name); more != nil {
					n, _ := strconv.Atoi(more[1])
					listed += n
				} else if listed++; !slices.Contains(x.known, name) {
					t.Errorf("%q is listed, and the registry has no such %s", name, x.name)
				}
			}
			if listed != len(x.known) {
				t.Errorf("%d names are listed or counted, the registry has %d: %s", listed, len(x.known), text)
			}
		})
	}
}

// A new scheme, added to the registry, changes no golden error.
func TestNewSchemeChangesNoGolden(t *testing.T) {
	more := Registry()
	dummy := func() cc.Scheme { s := reno.Scheme(); s.Name = "zzz_dummy"; return s }
	more.Controllers = append(more.Controllers, dummy())
	before := goldenError(errorOf(t, Registry(), "cc: cubic", "cc: cubik"), 0)
	if after := goldenError(errorOf(t, more, "cc: cubic", "cc: cubik"), 0); after != before {
		t.Errorf("%s\nwant %s", after, before)
	}
}

// fullTexts is the number of errors below each heading whose whole text is held.
const fullTexts = 2

// goldenError returns what the golden file has of the i-th error below a heading.
func goldenError(text string, i int) string {
	if i < fullTexts {
		return testutil.RemoveLists(text)
	}
	return testutil.BriefError(text)
}
