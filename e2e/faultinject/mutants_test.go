package faultinject

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/experiment"
)

// Limits of one mutant. A mutant above them shows a missing bound.
const (
	maxMemory  = 2 << 30 // that is allocated: the longest list of flows takes a third of it, and is made twice
	maxMessage = 1 << 16 // of an error, in bytes
)

// victim is a kind of input. Its mutants are tried one by one.
type victim struct {
	name   string
	files  map[string][]byte // that work
	file   string            // of them, which is damaged
	binary bool              // it is no text
	slow   int               // a mutant costs what so many of the others do; 0 is 1
	try    func(files map[string][]byte) error
	place  *regexp.Regexp // in an error that is no InputErrors
}

// mutant returns the input with one damaged file.
func (v *victim) mutant(n uint64) map[string][]byte {
	files, m := maps.Clone(v.files), NewMutator(v.name, n)
	if v.binary {
		files[v.file] = m.mutateBinary(files[v.file])
	} else {
		files[v.file] = m.Text(files[v.file])
	}
	return files
}

// effort limits the amount of damage to try.
type effort struct {
	mutants int  // of each kind of input
	costly  int  // how many other mutants one of a results folder stands for
	pages   bool // whether the pages of damaged results are drawn
}

// TestReaders_SurviveDamagedInput gives every reader damaged input. The reader must succeed or return an error with
// a place, in bounded memory, without a panic. TestMutantsAtLength tries more.
func TestReaders_SurviveDamagedInput(t *testing.T) { tryMutants(t, effort{mutants: 40, costly: 4}) }

func tryMutants(t *testing.T, e effort) {
	for _, v := range victims(t, e) {
		t.Run(v.name, func(t *testing.T) {
			if err := v.try(v.files); err != nil {
				t.Fatalf("undamaged it gives %v", err)
			}
			worked, most := 0, uint64(0)
			number := max(1, e.mutants/max(1, v.slow))
			for n := range uint64(number) {
				files := v.mutant(n)
				memory, err := tried(&v, files)
				if err == nil {
					worked++
				} else if what := unplaced(&v, err); what != "" {
					t.Errorf("mutant %d: %s: %.2000v\n%.4000q", n, what, err, files)
				}
				if memory > maxMemory {
					t.Errorf("mutant %d: %d MB are allocated; it gives %.2000v\n%.4000q", n, memory>>20, err, files)
				}
				most = max(most, memory)
			}
			t.Logf("%d of %d work; at most %d MB", worked, number, most>>20)
		})
	}
}

// panicked is an error that no mutant may cause: a panic.
type panicked struct {
	what  any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.what, p.stack) }

// tried reads one mutant, and returns the bytes that this allocated. A reader that does not end holds the test until
// its timeout prints where.
func tried(v *victim, files map[string][]byte) (memory uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	func() {
		defer func() {
			if what := recover(); what != nil {
				err = panicked{what, debug.Stack()}
			}
		}()
		err = v.try(files)
	}()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// unplaced describes a fault of an error, or returns "".
func unplaced(v *victim, err error) string {
	var list document.InputErrors
	var bad panicked
	message := err.Error()
	switch {
	case errors.As(err, &bad):
		return "it panics"
	case len(message) > maxMessage:
		return fmt.Sprintf("a message of %d bytes", len(message))
	case errors.As(err, &list):
		for _, e := range list {
			if e.File == "" || e.Line < 1 || e.Column < 1 || e.Msg == "" {
				return "an error without its place"
			}
		}
		if len(list) == 0 {
			return "no error in the list"
		}
		if text.EscapeLines(message) != message {
			return "a message that acts"
		}
	case v.place == nil || !v.place.MatchString(message):
		return "an error without its place"
	}
	return ""
}

// from returns an experiment or another file, with the files that it names, in memory.
func from(files map[string][]byte, name string) *experiment.Source {
	return &experiment.Source{Name: strings.TrimSuffix(name, ".yaml"), File: name, Data: files[name],
		Open: func(n string) ([]byte, error) {
			if data, ok := files[n]; ok {
				return data, nil
			}
			return nil, os.ErrNotExist
		}}
}

// put writes files into a folder.
func put(dir string, files map[string][]byte) error {
	for name, data := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

var known = app.Registry()
