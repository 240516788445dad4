package topology

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"weir/core/unit"
)

// FormatError is an error in an input file, with its position.
type FormatError struct {
	File         string
	Line, Column int // from 1
	Msg          string
	Excess       bool // everything that the file announces was read, and more follows
}

// Error returns the file with the position, and the message.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// wordReader reads a file word by word, with the position of each.
type wordReader struct {
	file         string
	lines        *bufio.Scanner
	text, rest   string // current line, and its unread rest
	line, column int    // of the current word
	next         int    // column of rest
}

// errorf returns an error at the current word.
func (w *wordReader) errorf(format string, args ...any) error {
	return &FormatError{File: w.file, Line: max(w.line, 1), Column: max(w.column, 1), Msg: fmt.Sprintf(format, args...)}
}

// nextWord returns the next word. what describes it for errors; it is an error if the file ends. The rest of the line
// stays for the next call.
func (w *wordReader) nextWord(what string) (string, error) {
	for {
		trimmed := strings.TrimLeft(w.rest, " \t\r")
		w.next += len(w.rest) - len(trimmed)
		w.rest = trimmed
		if w.rest != "" {
			break
		}
		if !w.lines.Scan() {
			if err := w.lines.Err(); err != nil {
				return "", lineError(w.file, w.line+1, longestLine, err)
			}
			w.column = w.next
			return "", w.errorf("the file ends; %s is missing", what)
		}
		w.line++
		w.text, w.next = w.lines.Text(), 1
		w.rest = w.text
	}
	n := strings.IndexAny(w.rest, " \t\r")
	if n < 0 {
		n = len(w.rest)
	}
	w.column = w.next
	word := w.rest[:n]
	w.rest, w.next = w.rest[n:], w.next+n
	return word, nil
}

// nextNumber parses an integer in [low, high]. what describes it for errors. Another word is an error.
func (w *wordReader) nextNumber(what string, low, high int) (int, error) {
	s, err := w.nextWord(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, w.errorf("%s is %q; a number from %d to %d is allowed", what, s, low, high)
	}
	return n, nil
}

// requireEnd reads on and verifies that the file has ended. The error for a further word has Excess set.
func (w *wordReader) requireEnd() error {
	s, err := w.nextWord("")
	if err == nil {
		return &FormatError{w.file, w.line, w.column,
			fmt.Sprintf("%q follows the last entry that the first line announces", s), true}
	}
	if w.lines.Err() != nil {
		return err
	}
	return nil
}

// lineError returns the error for a line that could not be read, or exceeds maxBytes.
func lineError(file string, line, maxBytes int, err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{File: file, Line: line, Column: 1, Msg: fmt.Sprintf("the line has more than %d bytes", maxBytes)}
	}
	return &FormatError{File: file, Line: line, Column: 1, Msg: err.Error()}
}

// longestLine is the maximum length of a line in bytes: the ids of all switches of the largest network fit.
const longestLine = 16 << 20

// largestNetwork limits the numbers of nodes and links, so that a wrong number in a file is an error and does not
// exhaust the memory.
const largestNetwork = 1 << 20

// ReadHPCC parses a topology file of the HPCC simulator: "<nodes> <switches> <links>", the switches' ids, then per
// link "src dst rate delay error_rate". A host is named h<id>, a switch s<id>; the error rate becomes the link's loss.
// A rate without a unit is in bit/s.
//
// The first line may also be ns3-datacenter's, "<nodes> <switches> <tors> <links>", optionally followed by two rates.
// Its programs use them to draw traffic; the network does not depend on them.
//
// Errors are of type *FormatError; errors of several links with a line each are joined. Without an error the network
// is valid (Validate). If the error has Excess set, the network is returned too, because the simulator ignores
// everything after the last link.
func ReadHPCC(r io.Reader, file string) (*Network, error) {
	w := &wordReader{file: file, lines: bufio.NewScanner(r)}
	w.lines.Buffer(nil, longestLine)
	nodes, switches, links, err := w.readHeader()
	if err != nil {
		return nil, err
	}
	n := &Network{Nodes: make([]Node, nodes)}
	if err := n.readSwitches(w, switches); err != nil {
		return nil, err
	}
	joined := map[[2]int]uint16{}
	degree := make([]int, nodes)
	var wrong []error
	for range links {
		ownLine := strings.TrimSpace(w.rest) == "" // whether the link begins a line
		l, err := n.readLink(w, joined, degree)
		if err == nil {
			n.Links = append(n.Links, l)
			continue
		}
		if wrong = append(wrong, err); len(wrong) == maxErrors || !ownLine || len(strings.Fields(w.text)) != linkWords {
			break
		}
		w.rest = "" // continue with the next line's link
	}
	switch len(wrong) {
	case 0:
	case 1:
		return nil, wrong[0]
	default:
		return nil, errors.Join(wrong...)
	}
	var excess *FormatError
	if err := w.requireEnd(); errors.As(err, &excess) && !excess.Excess {
		return nil, err
	} else if err != nil {
		return n, err
	}
	return n, nil
}

// maxErrors limits how many errors of a file are reported at once.
const maxErrors = 20

// linkWords is the number of words of a link.
const linkWords = 5

// readHeader parses the first line, of three, four or six numbers. It fails on a number out of range, and on the first
// line of a topology of SimAI.
func (w *wordReader) readHeader() (nodes, switches, links int, err error) {
	if nodes, err = w.nextNumber("the number of nodes", 1, largestNetwork); err != nil {
		return nodes, switches, links, err
	}
	words := strings.Fields(w.rest) // behind the first word of the line
	behind := len(words)
	if behind == 5 && unicode.IsLetter(rune(words[4][0])) && len(words[3]) <= 7 {
		return 0, 0, 0, w.simAIError(nodes, words)
	}
	if switches, err = w.nextNumber("the number of switches", 0, nodes); err != nil {
		return nodes, switches, links, err
	}
	if behind == 3 || behind == 5 {
		if _, err = w.nextNumber("the number of top-of-rack switches, of four or six numbers the third,", 0,
			switches); err != nil {
			return nodes, switches, links, err
		}
	}
	if links, err = w.nextNumber("the number of links", 0, largestNetwork); err != nil || behind != 5 {
		return nodes, switches, links, err
	}
	for _, what := range []string{"the rate of hosts' links", "the rate of links between switches"} {
		if _, err = w.nextRate(what); err != nil {
			break
		}
	}
	return nodes, switches, links, err
}

// simAIError returns the error for a topology of SimAI. Its first line is "<nodes> <GPUs a server> <NVSwitches>
// <switches> <links> <GPU>" (aliyun/SimAI, astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py), and the ids of
// NVSwitches are listed before the ids of switches.
func (w *wordReader) simAIError(nodes int, words []string) error {
	w.column = w.next + strings.LastIndex(w.rest, words[4])
	var numbers [4]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(words[i])
	}
	return w.errorf("%q: this line is in SimAI's format; write \"%d %d %d\", the numbers of nodes, of switches and "+
		"NVSwitches, and of links", words[4], nodes, numbers[1]+numbers[2], numbers[3])
}

// slashedUnits replaces the units of ns-3's DataRate that differ from Weir's only in their letters.
var slashedUnits = strings.NewReplacer("Tb/s", "Tbps", "Gb/s", "Gbps", "Mb/s", "Mbps", "kb/s", "kbps", "Kb/s", "kbps",
	"Kbps", "kbps", "b/s", "bps")

// nextRate parses a link's rate. A rate without a unit is in bit/s, as in ns-3. It must be above 0.
func (w *wordReader) nextRate(what string) (unit.LinkRate, error) {
	s, err := w.nextWord(what)
	if err != nil {
		return unit.LinkRate{}, err
	}
	text := slashedUnits.Replace(s)
	if strings.Trim(s, "0123456789.") == "" {
		text += "bps"
	}
	l, err := unit.ParseLinkRate(text)
	if err != nil && text != s { // errors quote the text of the file
		return l, w.errorf("%s is %q; a rate above 0 such as 100Gbps, or a whole number of bit/s, is allowed", what, s)
	}
	if err != nil {
		return l, w.errorf("%v", err)
	}
	return l, nil
}

// readSwitches parses the ids of the switches, and names all nodes. Switches are named s<id> and hosts h<id>.
func (n *Network) readSwitches(w *wordReader, switches int) error {
	for range switches {
		id, err := w.nextNumber("a switch's id", 0, len(n.Nodes)-1)
		if err != nil {
			return err
		}
		if n.Nodes[id].Switch {
			return w.errorf("switch %d is listed twice", id)
		}
		n.Nodes[id].Switch = true
	}
	for id := range n.Nodes {
		kind := "h"
		if n.Nodes[id].Switch {
			kind = "s"
		}
		n.Nodes[id].Name = kind + strconv.Itoa(id)
	}
	return nil
}

// readLink parses one link. joined counts the links of each pair of nodes, degree the links of each node; readLink
// updates both. It fails on invalid values, and on too many links of a node or between two nodes.
func (n *Network) readLink(w *wordReader, joined map[[2]int]uint16, degree []int) (l Link, err error) {
	for e, what := range []string{"a link's source", "a link's destination"} {
		if l.Ends[e], err = w.nextNumber(what, 0, len(n.Nodes)-1); err != nil {
			return l, err
		}
	}
	if l.Ends[0] == l.Ends[1] {
		return l, w.errorf("the link joins node %d to itself", l.Ends[0])
	}
	pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
	if joined[pair] == maxBundled {
		return l, w.errorf("nodes %d and %d have %d links already, the maximum", pair[0], pair[1],
			maxBundled)
	}
	l.Nth = joined[pair]
	joined[pair]++
	for _, node := range l.Ends {
		degree[node]++
		if limit := n.maxLinks(node); degree[node] > limit {
			return l, w.errorf("%s has more than the %d links that are possible", n.Nodes[node].Name, limit)
		}
	}
	if l.Rate, err = w.nextRate("a link's rate"); err != nil {
		return l, err
	}
	s, err := w.nextWord("a link's delay")
	if err != nil {
		return l, err
	}
	if l.Delay, err = unit.ParseTime(s); err != nil {
		return l, w.errorf("%v", err)
	}
	if s, err = w.nextWord("a link's error rate"); err != nil {
		return l, err
	}
	if l.Loss, err = strconv.ParseFloat(s, 64); err != nil || !(l.Loss >= 0 && l.Loss < 1) {
		return l, w.errorf("the error rate is %q; a number from 0 to below 1 is allowed", s)
	}
	return l, nil
}

// WriteHPCC writes a network in the format of ReadHPCC. Nodes become numbers, so their names are lost. The format has
// no jitter, no buffers and no spaced links. An error is w's.
func (n *Network) WriteHPCC(w io.Writer) error {
	b := bufio.NewWriter(w)
	var ids []string
	for i, node := range n.Nodes {
		if node.Switch {
			ids = append(ids, strconv.Itoa(i))
		}
	}
	fmt.Fprintf(b, "%d %d %d\n%s\n", len(n.Nodes), len(ids), len(n.Links), strings.Join(ids, " "))
	for _, l := range n.Links {
		fmt.Fprintf(b, "%d %d %v %v %s\n", l.Ends[0], l.Ends[1], l.Rate, l.Delay, strconv.FormatFloat(l.Loss, 'f', -1, 64))
	}
	return b.Flush()
}
