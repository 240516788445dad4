package netns

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestIsLabName_RejectsForeignNames(t *testing.T) {
	for name, want := range map[string]bool{
		"weir-1-client": true, "weir-1-@dataplane": true, "weir": false, "other": false, "weir-1-a/b": false,
		"../weir-1-a": false,
		"weir-1-a b":  false, "weir-" + strings.Repeat("x", 300): false,
	} {
		t.Run(name, func(t *testing.T) {
			if isLabName(name) != want {
				t.Errorf("%s: %v", name, !want)
			}
		})
	}
}

// TestParseRecord checks that a record lists the namespaces of its lab, even if it was cut short. Names that cannot
// belong to a lab are skipped.
func TestParseRecord(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       []entry
	}{
		{"empty", "", nil},
		{"whole", "owner 5\nmakes weir-1-a\nmade weir-1-a 77\nmakes weir-1-b\nmade weir-1-b 78\n",
			[]entry{{"weir-1-a", 77}, {"weir-1-b", 78}}},
		{"died while it made one", "makes weir-1-a\nmade weir-1-a 77\nmakes weir-1-b", []entry{{"weir-1-a", 77},
			{"weir-1-b", 0}}},
		{"not made", "makes weir-1-a\nnot weir-1-a\n", nil},
		{"made without a beginning", "made weir-1-a 77\n", nil},
		{"names of others", "makes other\nmakes ../netns/weir-1-a\nmakes /run/netns/weir-1-a\n", nil},
		{"damaged", "makes\n\x00\xff\nmakes weir-1-a b\nmade\n", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := parseRecord(strings.NewReader(x.text)); !slices.Equal(got, x.want) {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
}

// TestLockRecord_IsExclusive checks that a record has one holder at a time, and that a dead lab's lock is free. A
// removed record is no longer valid, and its name can be locked again.
func TestLockRecord_IsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lab-1")
	first, err := lockRecord(path)
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := lockRecord(path); second != nil || err != nil {
		t.Errorf("leased to two: %v, %v", second, err)
	}
	first.Close()
	second, err := lockRecord(path)
	if err != nil || second == nil {
		t.Fatalf("not free: %v, %v", second, err)
	}
	if err := os.Remove(path); err != nil { // as Set.Close does, with the lock
		t.Fatal(err)
	}
	third, err := lockRecord(path)
	if err != nil || third == nil {
		t.Fatalf("a new record is not free: %v, %v", third, err)
	}
	second.Close()
	if fourth, err := lockRecord(path); fourth != nil || err != nil {
		t.Errorf("leased to two: %v, %v", fourth, err)
	}
	third.Close()
	if _, err := lockRecord(filepath.Join(path, "no", "folder")); err == nil {
		t.Error("a record in no folder is locked")
	}
}
