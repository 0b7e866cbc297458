// Does on robfig/cron what ../slots.py does on the others: the work comes on standard input, the figures go out, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

type work struct {
	Zone        string
	Since       int64
	Days        int
	Slots       int
	Expressions []string
	Texts       [][]string
	Steps       int
	Rounds      int
	Patience    int
	Golden      []golden
}

type golden struct {
	Schedule string
	Zone     string
	From     int64
	Next     []int64
}

// Seconds, and how many golden cases come out right.
type figures struct {
	Next  []float64 `json:"next"`
	Parse float64   `json:"parse"`
	Day   float64   `json:"day"`
	Right int       `json:"right"`
}

func main() {
	var given work
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var found figures
	for _, text := range given.Expressions {
		found.Next = append(found.Next, next(given, text))
	}
	found.Parse = least(len(given.Texts), func(at int) {
		for _, text := range given.Texts[at] {
			parse(text, given.Zone)
		}
	}) / float64(len(given.Texts[0]))
	schedule, moment := parse("* * * * *", given.Zone), time.Unix(given.Since, 0)
	found.Day = least(given.Days, func(int) {
		for range given.Slots {
			moment = schedule.Next(moment)
		}
	})
	for _, one := range given.Golden {
		if isRight(one, time.Duration(given.Patience)*time.Second) {
			found.Right++
		}
	}
	json.NewEncoder(os.Stdout).Encode(found)
}

// As the CronJob controller does it; nil where the text is refused.
func parse(text, zone string) cron.Schedule {
	schedule, err := cron.ParseStandard("TZ=" + zone + " " + text)
	if err != nil {
		return nil
	}
	return schedule
}

// Of a walk that has begun.
func next(given work, text string) float64 {
	schedule := parse(text, given.Zone)
	var moment time.Time
	return least(given.Rounds, func(int) {
		moment = schedule.Next(time.Unix(given.Since, 0))
		for range given.Steps {
			moment = schedule.Next(moment)
		}
	}) / float64(given.Steps+1)
}

// Seconds of the fastest of so many: what else runs here only ever makes it longer.
func least(times int, work func(at int)) float64 {
	best := time.Hour.Seconds()
	for at := range times {
		began := time.Now()
		work(at)
		best = min(best, time.Since(began).Seconds())
	}
	return best
}

func isRight(one golden, patience time.Duration) bool {
	answer := make(chan bool, 1)
	go func() {
		schedule, found := parse(one.Schedule, one.Zone), []int64{}
		for moment := time.Unix(one.From, 0); schedule != nil && len(found) < len(one.Next); {
			moment = schedule.Next(moment)
			found = append(found, moment.Unix())
		}
		answer <- slices.Equal(found, one.Next)
	}()
	select {
	case right := <-answer:
		return right
	case <-time.After(patience): // on some it never comes back
		return false
	}
}
