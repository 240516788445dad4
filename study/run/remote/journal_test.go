package remote

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/study/results"
)

// TestJournalOnFullDisk checks that records that a journal could not write to a full disk are written when there is
// space again, and that no line is cut off.
func TestJournalOnFullDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := OpenJournal(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.BeginExecution(results.ByWorkers, "nats://a:1")
	file := j.file
	unwritable, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer unwritable.Close()
	j.file = unwritable
	j.NoteNow(JournalEntry{Event: Waiting, Text: "full"})
	j.Write(JournalEntry{Made: "1", Worker: "w"})
	if _, err := file.WriteAt([]byte(`{"made":"a part of a lin`), j.size); err != nil { // as a disk does that becomes full
		t.Fatal(err)
	}
	j.file = file
	j.NoteNow(JournalEntry{Event: Resumed})
	j.Write(JournalEntry{Worker: "w", Trusted: true})
	var replayed []JournalEntry
	again, err := OpenJournal(name, func(e *JournalEntry) { replayed = append(replayed, *e) })
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	e := again.Current()
	if e.Runs != 1 || len(e.Waits) != 1 || e.Waits[0].To.IsZero() || !slices.Equal(e.Waits[0].Why, []string{"full"}) ||
		len(replayed) != 5 || replayed[2].Made != "1" || !replayed[4].Trusted || e.Place != "nats://a:1" {
		t.Errorf("%+v, %+v", e, replayed)
	}
}

// TestJournalCutOff checks that a line that was cut off is removed, and that another damage is an error.
func TestJournalCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	const whole = `{"event":"began","of":{"id":"x"}}` + "\n"
	if err := os.WriteFile(name, []byte(whole+`{"made":"1","wor`), 0o600); err != nil {
		t.Fatal(err)
	}
	if all := ReadAccounts(name); len(all) != 1 || all[0].ID != "x" || all[0].Runs != 0 {
		t.Errorf("%+v", all)
	}
	j, err := OpenJournal(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.Write(JournalEntry{Made: "2", Worker: "w"})
	j.Close()
	if all := ReadAccounts(name); len(all) != 1 || all[0].Runs != 1 {
		t.Errorf("%+v", all)
	}
	if err := os.WriteFile(name, []byte("no entry\n"+whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(name, nil); err == nil {
		t.Error("a damaged journal is opened")
	}
	if all := ReadAccounts(name); all != nil {
		t.Errorf("%+v", all)
	}
}

// TestAccounts_GroupWaitsAndBoundEvents checks that the reasons of one wait are grouped, that another wait begins
// after it has ended, and that events are bounded.
func TestAccounts_GroupWaitsAndBoundEvents(t *testing.T) {
	var all accounts
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all.addEntry(&JournalEntry{Made: "0", Worker: "of a journal without accounts"})
	all.addEntry(&JournalEntry{Event: Began, Of: &results.Execution{ID: "x"}})
	for i, e := range []JournalEntry{{Event: Resumed}, {Event: Waiting, Text: "a"}, {Event: Waiting, Text: "b"},
		{Event: Waiting, Text: "a"}, {Event: Resumed}, {Event: Waiting, Text: "c"}} {
		e.At = at.Add(time.Duration(i) * time.Second)
		all.addEntry(&e)
	}
	for range maxEvents + 3 {
		all.addEntry(&JournalEntry{Event: Reported, Text: "x"})
	}
	e := all.current()
	if w := e.Waits; len(w) != 2 || !slices.Equal(w[0].Why, []string{"a", "b"}) ||
		w[0].To.Sub(w[0].From) != 3*time.Second ||
		!w[1].To.IsZero() || len(e.Events) != maxEvents || e.FurtherEvents != 3 || e.Runs != 0 {
		t.Errorf("%+v, %d events, %d more", w, len(e.Events), e.FurtherEvents)
	}
	all.addEntry(&JournalEntry{Made: "1", Worker: "w"})
	all.addEntry(&JournalEntry{Event: Began, Of: &results.Execution{ID: "y"}})
	all.addEntry(&JournalEntry{Made: "2", Worker: "w"})
	all.addEntry(&JournalEntry{Worker: "w", Bad: true, Held: 3, Text: "why"})
	if a, b := all[0].Workers[0], all[1].Workers[0]; a.Runs+b.Runs != 0 || a.Discarded != 1 || b.Discarded != 4 ||
		b.SetAside != "why" || all[0].Runs+all[1].Runs != 0 {
		t.Errorf("%+v", all)
	}
	all.addEntry(&JournalEntry{Event: Ended, At: at, Of: &results.Execution{Runs: 7,
		Workers: []results.Worker{{Name: "job 1"}}}})
	if e := all[1]; e.ID != "y" || e.Runs != 7 || len(e.Workers) != 1 || !e.Ended.Equal(at) {
		t.Errorf("%+v", e)
	}
}
