package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandPatience is how long a command of Slurm may take: a controller that has much to do lets it wait.
const commandPatience = 2 * time.Minute

// commands runs a command of Slurm in a folder and returns what it prints. nil runs the programs of this machine.
type commands func(ctx context.Context, dir, name string, args ...string) (string, error)

func (c commands) call(ctx context.Context, dir, name string, args ...string) (string, error) {
	if c == nil {
		return execute(ctx, dir, name, args...)
	}
	return c(ctx, dir, name, args...)
}

// execute runs a program of this machine.
func execute(ctx context.Context, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // a user's own views would hide tasks
		return strings.HasPrefix(v, "SQUEUE_") || strings.HasPrefix(v, "SACCT_")
	})
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", missingError{name}
	}
	said := strings.Join(strings.Fields(errs.String()), " ")
	if said == "" {
		said = err.Error()
	}
	return "", fmt.Errorf("%s: %s", name, strings.TrimPrefix(said, name+": "))
}

// missingError says that a machine does not have Slurm's commands.
type missingError struct{ command string }

func (e missingError) Error() string {
	return fmt.Sprintf("there is no %s here: sweeps are submitted and followed on a machine of the cluster that has "+
		"Slurm's commands; weir export slurm writes a folder that can be carried there", e.command)
}

// submit submits a script in its folder, and returns the number of the job.
func (c commands) submit(ctx context.Context, dir, script string) (job int, err error) {
	out, err := c.call(ctx, dir, "sbatch", "--parsable", script)
	if err != nil {
		return 0, err
	}
	return readSubmitted(out)
}

// readSubmitted reads what sbatch --parsable prints: the job, and behind a semicolon the cluster. A site's own words
// may come before.
func readSubmitted(out string) (job int, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	word, _, _ := strings.Cut(strings.TrimSpace(lines[len(lines)-1]), ";")
	if job, err = strconv.Atoi(word); err != nil || job < 1 {
		return 0, fmt.Errorf("sbatch: it printed %q, and no number of a job", out)
	}
	return job, nil
}

// queued is a task that waits or runs.
type queued struct {
	job, task     int
	state, reason string // PENDING, RUNNING, …; why it waits
	dir           string // that it works in
}

// queueFormat is what readQueue reads. The folder comes last: it may have any character.
const queueFormat = "%F|%K|%T|%r|%Z"

// queue are this user's tasks of arrays that wait or run.
func (c commands) queue(ctx context.Context) ([]queued, error) {
	out, err := c.call(ctx, "", "squeue", "--noheader", "--array", "--all", "--user="+strconv.Itoa(os.Getuid()),
		"--format="+queueFormat)
	if err != nil {
		return nil, err
	}
	return readQueue(out), nil
}

// readQueue reads what squeue prints. Lines of jobs that are no arrays are none of ours.
func readQueue(out string) (all []queued) {
	for line := range strings.Lines(out) {
		word := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 5)
		if len(word) < 5 {
			continue
		}
		job, err := strconv.Atoi(strings.TrimSpace(word[0]))
		if err != nil || job < 1 {
			continue
		}
		for _, task := range indices(word[1]) {
			all = append(all, queued{job, task, word[2], word[3], word[4]})
		}
	}
	return all
}

// mostIndices is more than an array can have.
const mostIndices = 1 << 22

// indices reads the indices of an array as Slurm writes them: 3, 4-7, 1,5-9:2%4. What is not that is none.
func indices(text string) (all []int) {
	text = strings.Trim(strings.TrimSpace(text), "[]")
	text, _, _ = strings.Cut(text, "%")
	for part := range strings.SplitSeq(text, ",") {
		part, step, stepped := strings.Cut(part, ":")
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		a, err := strconv.Atoi(low)
		b, bad := strconv.Atoi(high)
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		if err != nil || bad != nil || a < 0 || b < a || b >= mostIndices || by < 1 ||
			len(all)+(b-a)/by >= mostIndices {
			return nil
		}
		for i := a; i <= b; i += by {
			all = append(all, i)
		}
	}
	return all
}

// spans writes indices as Slurm reads them: 1,4-7.
func spans(all []int) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	var words []string
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		if k == i {
			words = append(words, strconv.Itoa(all[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", all[i], all[k]))
		}
		i = k + 1
	}
	return strings.Join(words, ",")
}

// ends are how tasks of a job ended, by index, as far as Slurm still knows: accounting, if the cluster has any, does
// for good, and the controller for some minutes.
func (c commands) ends(ctx context.Context, job int) map[int]string {
	out, err := c.call(ctx, "", "sacct", "--jobs="+strconv.Itoa(job), "--allocations", "--noheader", "--parsable2",
		"--format=JobID,State,ExitCode")
	if all := readAccounts(out, job); err == nil && len(all) > 0 {
		return all
	}
	out, err = c.call(ctx, "", "scontrol", "--oneliner", "show", "job", strconv.Itoa(job))
	if err != nil {
		return nil
	}
	return readControl(out, job)
}

// readAccounts reads what sacct prints: 12_3|FAILED|1:0.
func readAccounts(out string, job int) map[int]string {
	all := map[int]string{}
	for line := range strings.Lines(out) {
		word := strings.Split(strings.TrimSpace(line), "|")
		if len(word) != 3 {
			continue
		}
		id, index, ok := strings.Cut(word[0], "_")
		if n, err := strconv.Atoi(id); !ok || err != nil || n != job {
			continue
		}
		for _, i := range indices(index) {
			all[i] = outcome(word[1], "", word[2])
		}
	}
	return all
}

// controlWord is a word of what scontrol prints.
var controlWord = regexp.MustCompile(`(?:^| )(ArrayJobId|ArrayTaskId|JobState|Reason|ExitCode)=([^ ]*)`)

// readControl reads what scontrol show job prints, a line for each task.
func readControl(out string, job int) map[int]string {
	all := map[int]string{}
	for line := range strings.Lines(out) {
		word := map[string]string{}
		for _, m := range controlWord.FindAllStringSubmatch(strings.TrimSuffix(line, "\n"), -1) {
			if _, ok := word[m[1]]; !ok { // what comes later may be a command's
				word[m[1]] = m[2]
			}
		}
		if word["ArrayJobId"] != strconv.Itoa(job) || word["JobState"] == "" {
			continue
		}
		for _, i := range indices(word["ArrayTaskId"]) {
			all[i] = outcome(word["JobState"], word["Reason"], word["ExitCode"])
		}
	}
	return all
}

// outcome is how a task ended in a few words: OUT_OF_MEMORY, or FAILED (exit code 2).
func outcome(state, reason, exit string) string {
	code, signal, _ := strings.Cut(exit, ":")
	var more []string
	if code != "" && code != "0" {
		more = append(more, "exit code "+code)
	}
	if signal != "" && signal != "0" {
		more = append(more, "signal "+signal)
	}
	if reason != "" && reason != "None" && reason != "NonZeroExitCode" {
		more = append(more, reason)
	}
	if len(more) == 0 {
		return state
	}
	return state + " (" + strings.Join(more, ", ") + ")"
}
