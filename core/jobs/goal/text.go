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
	mostRanks = 1 << 24
	mostBytes = 1 << 50
	mostNanos = 1e15 // 11 days
	mostTag   = 1<<32 - 2
)

// Read reads a file, as text or in binary form, whose name is for errors. These are of type *workload.FormatError.
// Labels of the job are parts of data, as they are in it.
func Read(data []byte, file string) (*job.Listed, error) {
	if isBinary(data) {
		return readBinary(data, file)
	}
	return readText(data, file)
}

// readText reads the text form.
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
	p.at = len(p.text)
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
	return p.builder.Job(), nil
}

// parser reads a file line by line.
type parser struct {
	file      string
	rest      string
	text      string // the line in hand
	line      int
	at        int // in text
	builder   *job.Builder
	ranks     int              // −1: not known yet
	rank      int              // in hand, or the last one
	inside    bool             // of a rank
	labels    map[string]int32 // of the rank in hand
	commented int              // line at which a comment began that goes on; 0: none does
}

// errorf is an error at the place in hand.
func (p *parser) errorf(format string, args ...any) error {
	return &workload.FormatError{File: p.file, Line: max(p.line, 1), Column: p.at + 1, Msg: fmt.Sprintf(format, args...)}
}

// space skips blanks, and reports whether something follows.
func (p *parser) space() bool {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
	return p.at < len(p.text)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// peek gives the word, number or sign that follows, without taking it; "" at the end of the line.
func (p *parser) peek() string {
	if !p.space() {
		return ""
	}
	s := p.text[p.at:]
	n := 1
	switch {
	case letter(s[0]):
		for n < len(s) && (letter(s[n]) || digit(s[n]) || s[n] == '_') {
			n++
		}
	case digit(s[0]) || s[0] == '-':
		for n < len(s) && digit(s[n]) {
			n++
		}
	case s[0] >= 0x80: // a whole character, for the message
		for n < len(s) && s[n]&0xc0 == 0x80 {
			n++
		}
	}
	return s[:n]
}

// got is what follows, for messages.
func (p *parser) got() string {
	if t := p.peek(); t != "" {
		return strconv.Quote(t)
	}
	return "the end of the line"
}

// take takes a word that must follow.
func (p *parser) take(word, allowed string) error {
	if p.peek() != word {
		return p.errorf("%s; %s is expected", p.got(), allowed)
	}
	p.at += len(word)
	return nil
}

// number takes a number in [low, high], or −1 where any is allowed.
func (p *parser) number(what string, high int64, any bool) (int64, error) {
	t := p.peek()
	allowed := fmt.Sprintf("a number from 0 to %d", high)
	if any {
		allowed += ", or -1 for any,"
	}
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil || v > high || v < 0 && !(any && t == "-1") {
		return 0, p.errorf("%s is %s; %s is allowed", what, p.got(), allowed)
	}
	p.at += len(t)
	return v, nil
}

// end makes sure that the line has nothing more.
func (p *parser) end(allowed string) error {
	if p.space() {
		return p.errorf("%s; %s is expected", p.got(), allowed)
	}
	return nil
}

// readLine reads the line in hand.
func (p *parser) readLine() error {
	p.at = 0
	if p.commented > 0 {
		end := strings.Index(p.text, "*/")
		if end < 0 {
			return nil
		}
		p.at, p.commented = end+2, 0
		return p.end("the end of the line: a comment has its own")
	}
	if !p.space() {
		return nil
	}
	switch rest := p.text[p.at:]; {
	case strings.HasPrefix(rest, "//"):
		return nil
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			p.commented = p.line
			return nil
		}
		p.at += end + 4
		return p.end("the end of the line: a comment has its own")
	}
	switch word := p.peek(); {
	case p.ranks < 0:
		return p.header()
	case p.inside && word == "}":
		p.at++
		p.inside = false
		return p.end("the end of the line")
	case p.inside:
		return p.operation(word)
	case p.rank+1 == p.ranks:
		return p.errorf("%s behind the last of %d ranks; nothing is allowed there", p.got(), p.ranks)
	}
	return p.begin()
}

// header reads how many ranks there are.
func (p *parser) header() error {
	if err := p.take("num_ranks", "num_ranks and how many there are"); err != nil {
		return err
	}
	n, err := p.number("the number of ranks", mostRanks, false)
	if err != nil {
		return err
	}
	if n == 0 {
		p.at--
		return p.errorf("the number of ranks is 0; a number from 1 to %d is allowed", mostRanks)
	}
	p.ranks = int(n)
	return p.end("the end of the line")
}

// begin reads how a rank begins.
func (p *parser) begin() error {
	allowed := fmt.Sprintf("rank %d {", p.rank+1)
	if err := p.take("rank", allowed); err != nil {
		return err
	}
	if p.peek() != strconv.Itoa(p.rank+1) {
		return p.errorf("rank %s where rank %d is expected: ranks come in order, each once", p.peek(), p.rank+1)
	}
	p.at += len(p.peek())
	if err := p.take("{", "{"); err != nil {
		return err
	}
	p.rank++
	p.inside = true
	p.labels = map[string]int32{}
	p.builder.Rank()
	return p.end("the end of the line")
}

// operation reads an operation, with its label or without, or what one comes after.
func (p *parser) operation(word string) error {
	start := p.at
	if word == "" || !letter(word[0]) {
		return p.errorf("%s; a label, calc, send, recv or } is expected", p.got())
	}
	p.at += len(word)
	label := ""
	switch next := p.peek(); {
	case next == ":":
		p.at++
		label = word
		if other, is := p.labels[label]; is {
			p.at = start
			return p.errorf("the label %s is taken by operation %d of the rank; each has its own", label, other)
		}
		word = p.peek()
		start = p.at
		p.at += len(word)
	case next == "requires" || next == "irequires":
		p.at += len(next)
		return p.requires(word, start, next == "irequires")
	}
	op, err := p.content(word, start)
	if err != nil {
		return err
	}
	if p.builder.Total() == job.MostOps {
		return p.errorf("more than %d operations", job.MostOps)
	}
	i := p.builder.Add(op, label, p.line)
	if label != "" {
		p.labels[label] = i
	}
	return nil
}

// content reads what an operation does.
func (p *parser) content(word string, start int) (op job.Op, err error) {
	switch word {
	case "calc":
		n, err := p.number("the time in ns", mostNanos, false)
		if err != nil {
			return op, err
		}
		op.Kind, op.Time = job.Calc, unit.Time(n)*unit.Nanosecond
		if p.peek() == "cpu" {
			p.at += len("cpu")
			cpu, err := p.number("the cpu", 255, false)
			if err != nil {
				return op, err
			}
			op.CPU = uint8(cpu)
		}
		return op, p.end("cpu with its number, or the end of the line,")
	case "send", "recv":
		return p.message(word)
	}
	p.at = start
	return op, p.errorf("%s; calc, send or recv is expected, or requires or irequires behind a label", p.got())
}

// message reads a send or a receive.
func (p *parser) message(word string) (op job.Op, err error) {
	op.Kind = job.Send
	way := "to"
	if word == "recv" {
		op.Kind, way = job.Recv, "from"
	}
	size, err := p.number("the size", mostBytes, false)
	if err != nil {
		return op, err
	}
	op.Size = unit.Bytes(size)
	if p.peek() != "b" {
		return op, p.errorf("%s behind the size %d; b is expected: %db", p.got(), size, size)
	}
	p.at++
	if err := p.take(way, way+" and a rank"); err != nil {
		return op, err
	}
	peer, err := p.number("the rank", int64(p.ranks)-1, op.Kind == job.Recv)
	if err != nil {
		return op, err
	}
	op.Peer = int32(peer)
	options := []string{"tag", "cpu", "nic"}
	for k, key := range options {
		if p.peek() != key {
			continue
		}
		p.at += len(key)
		most := int64(255)
		if key == "tag" {
			most = mostTag
		}
		v, err := p.number("the "+key, most, key == "tag")
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
		if next := p.peek(); slices.Contains(options[:k+1], next) {
			return op, p.errorf("%s behind %s; the order is tag, cpu, nic, each once", next, key)
		}
	}
	return op, p.end("tag, cpu, nic (in this order), or the end of the line,")
}

// requires reads what an operation comes after.
func (p *parser) requires(label string, start int, begun bool) error {
	op, err := p.known(label, start)
	if err != nil {
		return err
	}
	other := p.peek()
	at := p.at
	if other == "" || !letter(other[0]) {
		return p.errorf("%s; a label is expected", p.got())
	}
	after, err := p.known(other, at)
	if err != nil {
		return err
	}
	p.at = at + len(other)
	p.builder.After(op, after, begun)
	return p.end("the end of the line")
}

// known finds an operation by its label.
func (p *parser) known(label string, at int) (int32, error) {
	i, is := p.labels[label]
	if is {
		return i, nil
	}
	p.at = at
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
