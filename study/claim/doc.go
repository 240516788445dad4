// Package claim compiles what experiments expect, expressions over measures and sweep keys, and judges them by the
// interval over seeds. A claim holds, fails, or is undecided.
package claim
