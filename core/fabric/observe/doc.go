// Package observe is what the simulator and the lab note of packets beyond what switches and
// links count by themselves: what frames consist of, in which order data arrives, what
// becomes of notices, and what ports hold every so often.
package observe
