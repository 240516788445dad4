package simfiles

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FormatError is what is wrong with an input file, and where.
type FormatError struct {
	File         string
	Line, Column int // from 1; columns in bytes
	Msg          string
	Excess       bool   // all that the file announces was read, and more stands behind it
	Key          string // of a config.txt, that has the wrong value; "": no key
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// FormatErrors are all that is wrong with an input file.
type FormatErrors []*FormatError

func (e FormatErrors) Error() string {
	var texts []string
	for _, x := range e {
		texts = append(texts, x.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns them one by one.
func (e FormatErrors) Unwrap() (all []error) {
	for _, x := range e {
		all = append(all, x)
	}
	return all
}

// longestLine holds a list of all nodes, or the queues of a port up to its buffer.
const longestLine = 16 << 20

// largestNode is the last node that has an address: two bytes of it are the node's number.
const largestNode = 1<<16 - 1

// lines reads a file line by line, and knows where its words stand.
type lines struct {
	file    string
	scanner *bufio.Scanner
	line    int
	text    string
	words   []string
	end     [2]int // line and column behind the last line that was not empty
}

func newLines(r io.Reader, file string) *lines {
	l := &lines{file: file, scanner: bufio.NewScanner(r), end: [2]int{1, 1}}
	l.scanner.Buffer(nil, longestLine)
	return l
}

// next goes to the next line that is not empty; false at the file's end.
func (l *lines) next() bool {
	for l.scanner.Scan() {
		l.line++
		l.text = l.scanner.Text()
		if l.words = strings.Fields(l.text); len(l.words) > 0 {
			l.end = [2]int{l.line, len(strings.TrimRight(l.text, " \t\r\v\f")) + 1}
			return true
		}
	}
	return false
}

// err is why next has ended before the file's end; nil if it has not.
func (l *lines) err() error {
	err := l.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{File: l.file, Line: l.line + 1, Column: 1, Msg: fmt.Sprintf("the line has more than %d bytes",
			longestLine)}
	}
	if err != nil {
		return &FormatError{File: l.file, Line: l.line + 1, Column: 1, Msg: err.Error()}
	}
	return nil
}

// errorf is an error at word i of the line.
func (l *lines) errorf(i int, format string, args ...any) error {
	return &FormatError{File: l.file, Line: l.line, Column: l.column(i), Msg: fmt.Sprintf(format, args...)}
}

// ends is an error behind the last line that was not empty.
func (l *lines) ends(format string, args ...any) error {
	return &FormatError{File: l.file, Line: l.end[0], Column: l.end[1], Msg: fmt.Sprintf(format, args...)}
}

// column is where word i stands, from 1.
func (l *lines) column(i int) int {
	at := 0
	for k, w := range l.words {
		at += strings.Index(l.text[at:], w)
		if k == i {
			break
		}
		at += len(w)
	}
	return at + 1
}

// count checks that the line has as many words as the form names.
func (l *lines) count(form string) error {
	switch n := len(strings.Fields(form)); {
	case len(l.words) < n:
		return l.ends("the line ends after %d of %d words: %s", len(l.words), n, form)
	case len(l.words) > n:
		return l.errorf(n, "%d words; a line has %d: %s", len(l.words), n, form)
	}
	return nil
}

// number reads word i, which is from low to high.
func (l *lines) number(i int, what string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(l.words[i], 10, 64)
	if err != nil || v < low || v > high {
		return 0, l.errorf(i, "%s is %q; a number from %d to %d is allowed", what, l.words[i], low, high)
	}
	return v, nil
}
