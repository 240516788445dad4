package goal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/core/jobs/job"
	"weir/core/unit"
	"weir/core/workload"
)

// Limits of files.
const (
	maxRanks = 1 << 24
	maxBytes = 1 << 50
	maxNanos = 1e15 // 11 days
	maxTag   = 1<<32 - 2
)

// ReadJob parses a file, as text or in binary form. file is its name for errors, which are of type
// *workload.FormatError. Labels of the job share memory with data.
func ReadJob(data []byte, file string) (*job.Listed, error) {
	if isBinary(data) {
		return readBinary(data, file)
	}
	return readText(data, file)
}

// readText parses the text form of a GOAL file. Errors are of type *workload.FormatError.
func readText(data []byte, file string) (l *job.Listed, err error) {
	p := &parser{file: file, rest: string(data), builder: job.NewBuilder(file), ranks: -1, rank: -1}
	p.builder.KeepLogGOPSimOrder()
	for p.line = 1; p.rest != ""; p.line++ {
		p.text, p.rest, _ = strings.Cut(p.rest, "\n")
		p.text = strings.TrimSuffix(p.text, "\r")
		if err := p.readLine(); err != nil {
			return nil, err
		}
	}
	p.line--
	p.column = len(p.text)
	switch {
	case p.commented > 0:
		return nil, &workload.FormatError{File: file, Line: p.commented, Column: 1, Msg: "the comment has no end: */"}
	case p.ranks < 0:
		return nil, p.errorf("the file ends; num_ranks is missing")
	case p.inside:
		return nil, p.errorf("the file ends within rank %d; } is missing", p.rank)
	case p.rank+1 < p.ranks:
		return nil, p.errorf("the file ends after %d of %d ranks; rank %d { is expected", p.rank+1, p.ranks, p.rank+1)
	}
	return p.builder.Build(), nil
}

// parser reads a file line by line.
type parser struct {
	file      string
	rest      string
	text      string // current line
	line      int
	column    int // current position in text
	builder   *job.Builder
	ranks     int              // −1: not known yet
	rank      int              // current rank, or the last one
	inside    bool             // whether the position is inside a rank
	labels    map[string]int32 // of the current rank
	commented int              // line at which an open comment began; 0: no open comment
}

// errorf returns an error at the current position.
func (p *parser) errorf(format string, args ...any) error {
	return &workload.FormatError{File: p.file, Line: max(p.line, 1), Column: p.column + 1,
		Msg: fmt.Sprintf(format, args...)}
}

// skipSpace moves the column past blanks and tabs. It reports whether the line continues there.
func (p *parser) skipSpace() bool {
	for p.column < len(p.text) && (p.text[p.column] == ' ' || p.text[p.column] == '\t') {
		p.column++
	}
	return p.column < len(p.text)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// peekToken returns the next word, number or sign without consuming it; "" at the end of the line.
func (p *parser) peekToken() string {
	if !p.skipSpace() {
		return ""
	}
	s := p.text[p.column:]
	n := 1
	switch {
	case isLetter(s[0]):
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
			n++
		}
	case isDigit(s[0]) || s[0] == '-':
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	case s[0] >= 0x80: // a whole character, for errors
		for n < len(s) && s[n]&0xc0 == 0x80 {
			n++
		}
	}
	return s[:n]
}

// describeNext describes the next token for errors.
func (p *parser) describeNext() string {
	if t := p.peekToken(); t != "" {
		return strconv.Quote(t)
	}
	return "the end of the line"
}

// takeWord consumes a word that must follow. allowed describes it in the error.
func (p *parser) takeWord(word, allowed string) error {
	if p.peekToken() != word {
		return p.errorf("%s; %s is expected", p.describeNext(), allowed)
	}
	p.column += len(word)
	return nil
}

// takeNumber consumes a number in [0, high], or also −1 if any is true. what names it in errors.
func (p *parser) takeNumber(what string, high int64, any bool) (int64, error) {
	t := p.peekToken()
	allowed := fmt.Sprintf("a number from 0 to %d", high)
	if any {
		allowed += ", or -1 for any,"
	}
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil || v > high || v < 0 && !(any && t == "-1") {
		return 0, p.errorf("%s is %s; %s is allowed", what, p.describeNext(), allowed)
	}
	p.column += len(t)
	return v, nil
}

// requireEnd verifies that the line has ended, after blanks. allowed describes in the error what may follow.
func (p *parser) requireEnd(allowed string) error {
	if p.skipSpace() {
		return p.errorf("%s; %s is expected", p.describeNext(), allowed)
	}
	return nil
}

// readLine parses the current line: a comment, the header, a rank's begin or end, an operation or a dependency.
func (p *parser) readLine() error {
	p.column = 0
	if p.commented > 0 {
		end := strings.Index(p.text, "*/")
		if end < 0 {
			return nil
		}
		p.column, p.commented = end+2, 0
		return p.requireEnd("the end of the line: a comment has its own")
	}
	if !p.skipSpace() {
		return nil
	}
	switch rest := p.text[p.column:]; {
	case strings.HasPrefix(rest, "//"):
		return nil
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			p.commented = p.line
			return nil
		}
		p.column += end + 4
		return p.requireEnd("the end of the line: a comment has its own")
	}
	switch word := p.peekToken(); {
	case p.ranks < 0:
		return p.readHeader()
	case p.inside && word == "}":
		p.column++
		p.inside = false
		return p.requireEnd("the end of the line")
	case p.inside:
		return p.readOperation(word)
	case p.rank+1 == p.ranks:
		return p.errorf("%s behind the last of %d ranks; nothing is allowed there", p.describeNext(), p.ranks)
	}
	return p.beginRank()
}

// readHeader parses the number of ranks, from 1 to maxRanks, and stores it.
func (p *parser) readHeader() error {
	if err := p.takeWord("num_ranks", "num_ranks and how many there are"); err != nil {
		return err
	}
	n, err := p.takeNumber("the number of ranks", maxRanks, false)
	if err != nil {
		return err
	}
	if n == 0 {
		p.column--
		return p.errorf("the number of ranks is 0; a number from 1 to %d is allowed", maxRanks)
	}
	p.ranks = int(n)
	return p.requireEnd("the end of the line")
}

// beginRank parses the first line of a rank, which must have the next number, and begins the rank in the builder.
func (p *parser) beginRank() error {
	allowed := fmt.Sprintf("rank %d {", p.rank+1)
	if err := p.takeWord("rank", allowed); err != nil {
		return err
	}
	if p.peekToken() != strconv.Itoa(p.rank+1) {
		return p.errorf("rank %s where rank %d is expected: ranks come in order, each once", p.peekToken(), p.rank+1)
	}
	p.column += len(p.peekToken())
	if err := p.takeWord("{", "{"); err != nil {
		return err
	}
	p.rank++
	p.inside = true
	p.labels = map[string]int32{}
	p.builder.BeginRank()
	return p.requireEnd("the end of the line")
}

// readOperation parses an operation with or without a label, or a dependency.
func (p *parser) readOperation(word string) error {
	start := p.column
	if word == "" || !isLetter(word[0]) {
		return p.errorf("%s; a label, calc, send, recv or } is expected", p.describeNext())
	}
	p.column += len(word)
	label := ""
	switch next := p.peekToken(); {
	case next == ":":
		p.column++
		label = word
		if other, is := p.labels[label]; is {
			p.column = start
			return p.errorf("the label %s is taken by operation %d of the rank; each has its own", label, other)
		}
		word = p.peekToken()
		start = p.column
		p.column += len(word)
	case next == "requires" || next == "irequires":
		p.column += len(next)
		return p.readRequires(word, start, next == "irequires")
	}
	op, err := p.readArguments(word, start)
	if err != nil {
		return err
	}
	if p.builder.CountOps() == job.MaxOps {
		return p.errorf("more than %d operations", job.MaxOps)
	}
	i := p.builder.AddOp(op, label, p.line)
	if label != "" {
		p.labels[label] = i
	}
	return nil
}

// readArguments parses the arguments of an operation of kind word, calc, send or recv, which begins at column start. It
// fails for another word.
func (p *parser) readArguments(word string, start int) (op job.Op, err error) {
	switch word {
	case "calc":
		n, err := p.takeNumber("the time in ns", maxNanos, false)
		if err != nil {
			return op, err
		}
		op.Kind, op.Time = job.Calc, unit.Time(n)*unit.Nanosecond
		if p.peekToken() == "cpu" {
			p.column += len("cpu")
			cpu, err := p.takeNumber("the cpu", 255, false)
			if err != nil {
				return op, err
			}
			op.CPU = uint8(cpu)
		}
		return op, p.requireEnd("cpu with its number, or the end of the line,")
	case "send", "recv":
		return p.readMessage(word)
	}
	p.column = start
	return op, p.errorf("%s; calc, send or recv is expected, or requires or irequires behind a label", p.describeNext())
}

// readMessage parses the arguments of word, a send or recv, up to the end of the line.
func (p *parser) readMessage(word string) (op job.Op, err error) {
	op.Kind = job.Send
	way := "to"
	if word == "recv" {
		op.Kind, way = job.Recv, "from"
	}
	size, err := p.takeNumber("the size", maxBytes, false)
	if err != nil {
		return op, err
	}
	op.Size = unit.Bytes(size)
	if p.peekToken() != "b" {
		return op, p.errorf("%s behind the size %d; b is expected: %db", p.describeNext(), size, size)
	}
	p.column++
	if err := p.takeWord(way, way+" and a rank"); err != nil {
		return op, err
	}
	peer, err := p.takeNumber("the rank", int64(p.ranks)-1, op.Kind == job.Recv)
	if err != nil {
		return op, err
	}
	op.Peer = int32(peer)
	options := []string{"tag", "cpu", "nic"}
	for k, key := range options {
		if p.peekToken() != key {
			continue
		}
		p.column += len(key)
		most := int64(255)
		if key == "tag" {
			most = maxTag
		}
		v, err := p.takeNumber("the "+key, most, key == "tag")
		if err != nil {
			return op, err
		}
		switch key {
		case "tag":
			op.Tag = uint32(v)
		case "cpu":
			op.CPU = uint8(v)
		case "nic":
			op.NIC = uint8(v)
		}
		if next := p.peekToken(); slices.Contains(options[:k+1], next) {
			return op, p.errorf("%s behind %s; the order is tag, cpu, nic, each once", next, key)
		}
	}
	return op, p.requireEnd("tag, cpu, nic (in this order), or the end of the line,")
}

// readRequires parses the rest of a dependency of the operation with a label, which begins at column start, and adds
// it. begun means that the other operation need only have begun.
func (p *parser) readRequires(label string, start int, begun bool) error {
	op, err := p.findLabel(label, start)
	if err != nil {
		return err
	}
	other := p.peekToken()
	at := p.column
	if other == "" || !isLetter(other[0]) {
		return p.errorf("%s; a label is expected", p.describeNext())
	}
	after, err := p.findLabel(other, at)
	if err != nil {
		return err
	}
	p.column = at + len(other)
	p.builder.AddDependency(op, after, begun)
	return p.requireEnd("the end of the line")
}

// findLabel returns the current rank's operation with a label. Without it the error has column at of the line.
func (p *parser) findLabel(label string, at int) (int32, error) {
	i, is := p.labels[label]
	if is {
		return i, nil
	}
	p.column = at
	known := make([]string, 0, len(p.labels))
	//weir:unordered they are sorted
	for k := range p.labels {
		known = append(known, k)
	}
	slices.Sort(known)
	have := "it has none so far"
	switch {
	case len(known) > 8:
		have = "it has " + strings.Join(known[:8], ", ") + ", …"
	case len(known) > 0:
		have = "it has " + strings.Join(known, ", ")
	}
	return 0, p.errorf("rank %d has no label %s above this line; %s", p.rank, label, have)
}
