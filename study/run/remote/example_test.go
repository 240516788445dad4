package remote_test

import (
	"fmt"
	"os"
	"path/filepath"

	"weir/study/results"
	"weir/study/run/remote"
)

// Example continues after another process was killed: it reads the finished work from the journal.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	j, err := remote.OpenJournal(filepath.Join(dir, "journal"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()
	j.BeginExecution(results.BySlurm, "")
	j.Write(remote.JournalEntry{Made: "0123456789abcdef", Worker: "job 12"})
	for _, e := range remote.ReadAccounts(filepath.Join(dir, "journal")) {
		fmt.Println(e.By, "runs:", e.Runs, "ended:", !e.Ended.IsZero())
	}
	// Output: slurm runs: 1 ended: false
}
