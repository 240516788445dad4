package simfiles

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FormatError is an error in an input file with its place.
type FormatError struct {
	File         string
	Line, Column int // from 1; columns in bytes
	Msg          string
	Excess       bool   // the announced content was read, and more follows
	Key          string // key of a config.txt with the wrong value; "": no key
}

// Error returns the place and the message: file:line:column: message.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// FormatErrors are all errors of an input file.
type FormatErrors []*FormatError

// Error returns the texts of all errors, each on a line.
func (e FormatErrors) Error() string {
	var texts []string
	for _, x := range e {
		texts = append(texts, x.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the errors one by one.
func (e FormatErrors) Unwrap() (all []error) {
	for _, x := range e {
		all = append(all, x)
	}
	return all
}

// maxLineBytes limits a line. It holds a list of all nodes, or the queues of a port up to its buffer.
const maxLineBytes = 16 << 20

// maxNode is the last node with an address: two bytes of an address are the node's number.
const maxNode = 1<<16 - 1

// lineReader reads a file line by line and locates its words.
type lineReader struct {
	file    string
	scanner *bufio.Scanner
	line    int
	text    string
	words   []string
	end     [2]int // line and column after the last line that was not empty
}

// newLineReader returns a reader of lines from r. file names the file in errors.
func newLineReader(r io.Reader, file string) *lineReader {
	l := &lineReader{file: file, scanner: bufio.NewScanner(r), end: [2]int{1, 1}}
	l.scanner.Buffer(nil, maxLineBytes)
	return l
}

// nextLine moves to the next line that is not empty; it returns false at the file's end.
func (l *lineReader) nextLine() bool {
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

// scanError returns the error that ended reading before the file's end; nil without one.
func (l *lineReader) scanError() error {
	err := l.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{File: l.file, Line: l.line + 1, Column: 1, Msg: fmt.Sprintf("the line has more than %d bytes",
			maxLineBytes)}
	}
	if err != nil {
		return &FormatError{File: l.file, Line: l.line + 1, Column: 1, Msg: err.Error()}
	}
	return nil
}

// errorf returns an error at word i of the current line, from 0; an i behind the last word is the line's end.
func (l *lineReader) errorf(i int, format string, args ...any) error {
	return &FormatError{File: l.file, Line: l.line, Column: l.wordColumn(i), Msg: fmt.Sprintf(format, args...)}
}

// errorAtEnd returns an error after the last line that was not empty.
func (l *lineReader) errorAtEnd(format string, args ...any) error {
	return &FormatError{File: l.file, Line: l.end[0], Column: l.end[1], Msg: fmt.Sprintf(format, args...)}
}

// wordColumn returns the column of word i in bytes, from 1; behind the last word, the line's end.
func (l *lineReader) wordColumn(i int) int {
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

// checkWordCount returns an error unless the line has as many words as form, which names its columns.
func (l *lineReader) checkWordCount(form string) error {
	switch n := len(strings.Fields(form)); {
	case len(l.words) < n:
		return l.errorAtEnd("the line ends after %d of %d words: %s", len(l.words), n, form)
	case len(l.words) > n:
		return l.errorf(n, "%d words; a line has %d: %s", len(l.words), n, form)
	}
	return nil
}

// readNumber parses word i, which the line must have, as an integer from low to high. name is the value's name in the
// error.
func (l *lineReader) readNumber(i int, name string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(l.words[i], 10, 64)
	if err != nil || v < low || v > high {
		return 0, l.errorf(i, "%s is %q; a number from %d to %d is allowed", name, l.words[i], low, high)
	}
	return v, nil
}
