package results

import (
	"os"

	"weir/internal/atomicfile"
)

// HasRun reports whether a results folder has the file of the run with that ID. It does not read the file.
func HasRun(dir, id string) bool {
	_, err := os.Stat(RunFile(dir, id))
	return err == nil
}

// RunClaim is the exclusive right of one process to write a run's file. Executions, tasks of a cluster and merging
// use it to put runs into a folder.
type RunClaim struct {
	name string
	file *atomicfile.File // nil: a write failed at its end and lost the claim
}

// ClaimRun claims the file of the run with an ID in a results folder. It returns atomicfile.ErrTaken while another
// process holds the claim. The caller must end it with Keep or Discard.
func ClaimRun(dir, id string) (*RunClaim, error) {
	c := &RunClaim{name: RunFile(dir, id)}
	return c, c.claimFile()
}

// claimFile claims the file. It returns atomicfile.ErrTaken if the file is claimed already.
func (c *RunClaim) claimFile() (err error) {
	if c.file, err = atomicfile.Claim(c.name); err == atomicfile.ErrTaken {
		return err
	}
	return WrapWriteError(c.name, err)
}

// Keep writes the file and ends the claim. It may be called again after an error: if the error ended the claim, it
// claims the file again.
func (c *RunClaim) Keep(data []byte) error {
	if c.file == nil {
		if err := c.claimFile(); err != nil {
			return err
		}
	}
	_, err := c.file.WriteAt(data, 0)
	if err == nil {
		if err = c.file.Commit(); err != nil {
			c.file = nil
		}
	}
	return WrapWriteError(c.name, err)
}

// Discard ends the claim unless Keep has written the file. Discard of a nil claim has no effect.
func (c *RunClaim) Discard() {
	if c != nil {
		c.file.Discard()
	}
}
