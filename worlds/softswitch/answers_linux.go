package softswitch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// answer is a message of the data plane to the supervisor: a line of JSON.
type answer struct {
	Is    string // begun, reloaded, refused, note, stopped, unreadable
	Text  string
	Notes []string
	Left  int
}

// Words of answer.Is.
const (
	isBegun      = "begun"
	isReloaded   = "reloaded"
	isRefused    = "refused"
	isNote       = "note"
	isStopped    = "stopped"
	isUnreadable = "unreadable" // which readAnswers says of a line
)

// largestAnswer is what the supervisor reads as one line. An answer that is brief is shorter, although JSON may
// write six bytes for one.
const largestAnswer = 1 << 18

// How much an answer says: so many notes, and so many bytes in each and in its text.
const (
	mostNotes     = 20
	longestNote   = 2000
	longestReason = 32 << 10
)

// brief is an answer of limited size that says the same in short, with the number of the notes that are left out.
func (a answer) brief() answer {
	a.Text = cutAt(a.Text, longestReason)
	var notes []string
	for i, x := range a.Notes {
		if i == mostNotes {
			notes = append(notes, fmt.Sprintf("and %d more", len(a.Notes)-i))
			break
		}
		notes = append(notes, cutAt(x, longestNote))
	}
	a.Notes = notes
	return a
}

// cutAt is so many bytes of a text at most, of which the last say that some are missing.
func cutAt(text string, most int) string {
	const more = " …"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

// readAnswers hands over the answers in out up to its end. Whatever comes, it reads on: a data plane that nobody
// reads would wait, and carry no frames. A line that is too long or no answer is handed over as unreadable.
func readAnswers(out io.Reader, hand func(answer)) {
	for lines := bufio.NewReaderSize(out, largestAnswer); ; {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
		var a answer
		if long || json.Unmarshal(line, &a) != nil {
			a = answer{Is: isUnreadable}
		}
		hand(a)
	}
}
