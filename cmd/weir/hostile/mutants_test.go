package hostile

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
	"time"

	"weir/cmd/weir/cli"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/spec"
)

// Limits of one mutant: what takes more has no bound.
const (
	mostWait    = time.Minute // on a machine that has other things to do
	mostMemory  = 2 << 30     // that is allocated: the longest list of flows takes a third of it, and is made twice
	mostMessage = 1 << 16     // of an error, in bytes
)

// victim is a kind of input: its mutants are tried one by one.
type victim struct {
	name   string
	files  map[string][]byte // that work
	file   string            // of them, which is damaged
	binary bool              // it is no text
	slow   int               // a mutant costs what so many of the others do; 0 is 1
	try    func(files map[string][]byte) error
	place  *regexp.Regexp // in an error that is no InputErrors
}

// mutant is the input with file damaged.
func (v *victim) mutant(n uint64) map[string][]byte {
	files, m := maps.Clone(v.files), NewMutator(v.name, n)
	if v.binary {
		files[v.file] = m.Binary(files[v.file])
	} else {
		files[v.file] = m.Text(files[v.file])
	}
	return files
}

// TestMutants gives every reader damaged input: it works, or there is an error with a place; in bounded time
// and memory, without a panic.
func TestMutants(t *testing.T) {
	for _, v := range victims(t) {
		t.Run(v.name, func(t *testing.T) {
			if err := v.try(v.files); err != nil {
				t.Fatalf("undamaged it gives %v", err)
			}
			worked, most, longest := 0, uint64(0), time.Duration(0)
			number := max(1, mutants/max(1, v.slow))
			for n := range uint64(number) {
				files := v.mutant(n)
				took, memory, err := tried(t, n, &v, files)
				if err == nil {
					worked++
				} else if what := unplaced(&v, err); what != "" {
					t.Errorf("mutant %d: %s: %.2000v\n%.4000q", n, what, err, files)
				}
				if memory > mostMemory {
					t.Errorf("mutant %d: %d MB are allocated; it gives %.2000v\n%.4000q", n, memory>>20, err, files)
				}
				most, longest = max(most, memory), max(longest, took)
			}
			t.Logf("%d of %d work; at most %d MB and %v", worked, number, most>>20, longest.Round(time.Millisecond))
		})
	}
}

// panicked is an error that a mutant should not give.
type panicked struct {
	what  any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.what, p.stack) }

// tried is one mutant, with the time and the memory that it took.
func tried(t *testing.T, n uint64, v *victim, files map[string][]byte) (took time.Duration, memory uint64, err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, done := time.Now(), make(chan error, 1)
	go func() {
		defer func() {
			if what := recover(); what != nil {
				done <- panicked{what, debug.Stack()}
			}
		}()
		done <- v.try(files)
	}()
	select {
	case err = <-done:
	case <-time.After(mostWait):
		t.Fatalf("mutant %d: there is no end after %v\n%.4000q", n, mostWait, files)
	}
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, err
}

// unplaced says what is wrong with an error; "" for nothing.
func unplaced(v *victim, err error) string {
	var list document.InputErrors
	var bad panicked
	message := err.Error()
	switch {
	case errors.As(err, &bad):
		return "it panics"
	case len(message) > mostMessage:
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
		if text.Lines(message) != message {
			return "a message that acts"
		}
	case v.place == nil || !v.place.MatchString(message):
		return "an error without its place"
	}
	return ""
}

// from is an experiment or another file with those that it names, in memory.
func from(files map[string][]byte, name string) *spec.Source {
	return &spec.Source{Name: strings.TrimSuffix(name, ".yaml"), File: name, Data: files[name],
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

var known = cli.Registry()
