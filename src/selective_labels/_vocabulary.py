"""What a yes means, and the words of a domain for cases, decisions and the event.

Texts of the package are written in neutral words: a *decision-maker* *accepts* or *refuses* a *case*, in
which the *event* happens or not. :meth:`Vocabulary.say` turns such a text into the words of a domain when it
is shown, so that a text is written once. Names in quotation marks are left as they are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from selective_labels._errors import InputError
from selective_labels._validation import require_choice

# What a yes of the decision-maker means.
ACCEPT, INSPECT = "accept", "inspect"
MEANINGS = (ACCEPT, INSPECT)
# What is assumed of outcomes that are pending where the decision is a yes.
AT_RANDOM, WORST_CASE = "at-random", "worst-case"


def plural(noun: str) -> str:
    """Plural of a noun.

    Examples
    --------
    >>> plural("judge"), plural("agency"), plural("boss"), plural("case workers")
    ('judges', 'agencies', 'bosses', 'case workers')
    """
    if re.search(r"[^s]s$", noun):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(s|x|z|ch|sh)$", noun) else f"{noun}s"


@dataclass(frozen=True)
class Vocabulary:
    """The words of a domain, in which results and reports speak.

    Only `case`, `decision_maker`, `event` and `yes` need to be given; the other forms follow by rule.

    Parameters
    ----------
    case, cases : str
        What is decided about, singular and plural.
    decision_maker, decision_makers : str
        Who decides.
    event, events : str
        The event: a harm where a yes accepts, what is looked for where a yes inspects.
    yes, yes_past, yes_noun : str
        A yes as a verb, its past participle, and its noun ("approve", "approved", "approval").
    no, no_past, no_noun : str
        The same for a no. Default: "not" and the verb of the yes.
    means : "accept", "inspect" or None
        What a yes means in this domain; None if both are possible. See
        :class:`selective_labels.SelectiveLabels`.

    Examples
    --------
    >>> words = Vocabulary("claim", decision_maker="adjuster", event="fraud", yes="investigate",
    ...                    yes_noun="investigation", means="inspect")
    >>> words.say("Decision-makers accepted 30% of the cases; a refused case has no label.")
    'Adjusters investigated 30% of the claims; a claim not investigated has no label.'
    >>> Vocabulary.read("lending").say("the acceptance rate of 'case 1', and refused cases")
    "the approval rate of 'case 1', and declined applications"
    """

    case: str = "case"
    cases: str = ""
    decision_maker: str = "decision-maker"
    decision_makers: str = ""
    event: str = "event"
    events: str = ""
    yes: str = ""
    yes_past: str = ""
    yes_noun: str = ""
    no: str = ""
    no_past: str = ""
    no_noun: str = ""
    means: str | None = None

    def __post_init__(self) -> None:
        require_choice("means", self.means, (*MEANINGS, None))
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in given.items():
            if name != "means" and not isinstance(value, str):
                raise InputError(f"vocabulary: {name} must be text, not {value!r}.", "vocabulary")
        if not self.yes and self.means is not None:
            given |= _NEUTRAL_YES[self.means]
        for noun in ("case", "decision_maker", "event"):
            given[f"{noun}s"] = given[f"{noun}s"] or plural(given[noun])
        for verb in ("yes", "no"):
            if given[verb]:
                past = given[f"{verb}_past"] or _past(given[verb])
                given |= {
                    f"{verb}_past": past,
                    f"{verb}_noun": given[f"{verb}_noun"] or _gerund(given[verb], past),
                }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def read(cls, given: "Vocabulary | str | Mapping[str, str] | None") -> "Vocabulary":
        """Read an object, the name of a preset, or a mapping, which may name a preset to change.

        Examples
        --------
        >>> Vocabulary.read({"preset": "inspection", "case": "restaurant"}).cases
        'restaurants'
        >>> Vocabulary.read("banking")
        Traceback (most recent call last):
        ...
        selective_labels._errors.InputError: vocabulary='banking' is not one of 'neutral', 'lending', ...
        """
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            require_choice("vocabulary", given, tuple(PRESETS))
            return PRESETS[given]
        if not isinstance(given, Mapping):
            raise InputError.about(
                "vocabulary", "must be a Vocabulary, the name of a preset, or a mapping of words."
            )
        words = dict(given)
        base = cls.read(words.pop("preset", None))
        known = [each.name for each in fields(cls)]
        for name in words:
            require_choice("vocabulary", name, ("preset", *known))
        # A form that follows by rule follows from the new word.
        stale = {f"{name}{end}": "" for name in words for end in ("s", "_past", "_noun")}
        return replace(base, **{name: "" for name in stale if name in known} | words)

    @classmethod
    def parse(cls, given: Sequence[str]) -> "Vocabulary":
        """Read words as they are typed: the name of a preset, and words such as "case=claim".

        Examples
        --------
        >>> Vocabulary.parse(["inspection", "case=restaurant", "yes=visit"]).yes_past
        'visited'
        """
        words: dict[str, str] = {}
        for each in given:
            name, equals, word = each.partition("=")
            name = name.strip().replace("-", "_")
            if equals and not word.strip():
                raise InputError(f"vocabulary: no word is given for {name!r}.", "vocabulary")
            words |= {name: word.strip()} if equals else {"preset": name}
        return cls.read(words)

    def meaning(self, means: str | None = None) -> "Vocabulary":
        """The same words with the meaning of a yes settled: as stated, else as in this domain, else "accept".

        Examples
        --------
        >>> Vocabulary().meaning().yes, Vocabulary().meaning("inspect").yes
        ('accept', 'inspect')
        >>> PRESETS["lending"].meaning("inspect")
        Traceback (most recent call last):
        ...
        selective_labels._errors.InputError: decision_means='inspect', and in the vocabulary a yes (approve)
        means 'accept'; give another vocabulary, or leave decision_means out.
        """
        require_choice("decision_means", means, (*MEANINGS, None))
        if None not in (means, self.means) and means != self.means:
            raise InputError(
                f"decision_means={means!r}, and in the vocabulary a yes ({self.yes}) means {self.means!r}; "
                "give another vocabulary, or leave decision_means out.",
                "decision_means",
            )
        return replace(self, means=means or self.means or ACCEPT)

    def say(self, text: str) -> str:
        """Turn a text in neutral words into the words of this domain.

        Examples
        --------
        >>> PRESETS["neutral"].say("accepted cases")
        'accepted cases'
        >>> print(PRESETS["bail"].say("Who refuses an accepted case? The share of the event, at worst."))
        Who detains a released defendant? The share of failures to appear, at worst.
        """
        if not self._spoken:
            return text
        text = _CUT.sub("…", text)
        return "".join(
            part if quoted else self._pattern.sub(self._turned, part) for quoted, part in _by_quotation(text)
        )

    @cached_property
    def _spoken(self) -> dict[str, str]:
        """Neutral phrases and what they become; empty for the neutral vocabulary."""
        if not self.yes:
            return self.meaning()._spoken
        yes, yes_past, noun = self.yes, self.yes_past, self.yes_noun
        many, one = self.cases, self.case
        one_event = f"{article(self.event)} {self.event}"
        if self.no:
            no = _forms("refuse", self.no, self.no_past, self.no_noun)
            no |= {"refused ones": f"{self.no_past} ones", "refusals": plural(self.no_noun)}
            declined = self.no_past
        else:
            declined = f"not {yes_past}"
            no = {
                "refuse": f"do not {yes}",
                **{f"{each} refuse": f"{each} not {yes}" for each in _BEFORE_INFINITIVE},
                "to refuse": f"not to {yes}",
                "refuses": f"does not {yes}",
                "refused": declined,
                "refusing": f"not {_gerund(yes, yes_past)}",
                "refusing everybody": f"{_gerund(yes, yes_past)} nobody",
                "refusal": f"no {noun}",
                "a refusal": f"no {noun}",
                "refusals": f"{many} {declined}",
                "refused case": f"{one} {declined}",
                "refused cases": f"{many} {declined}",
                "refused ones": f"those {declined}",
            }
        found = {
            **_forms("accept", yes, yes_past, noun),
            "acceptance": noun,
            "accepted ones": f"those {yes_past}",
            "comparable accepted ones": f"comparable ones {yes_past}",
            "the accepted": f"those {yes_past}",
            "the refused": f"those {declined}",
            **no,
            "case": one,
            "cases": many,
            "decision-maker": self.decision_maker,
            "decision-makers": self.decision_makers,
            "event": self.event,
            "events": self.events,
            "the event": self.event if self.event == "event" else one_event,
            "the event happens": "the event happens" if self.event == "event" else f"there is {one_event}",
            "the event happened": "the event happened" if self.event == "event" else f"there was {one_event}",
            "share of the event": f"share of {'the event' if self.event == 'event' else self.events}",
            "failure": self.event,
            "failures": self.events,
        }
        if self.means == INSPECT:
            found |= _rates(yes, noun, self.decision_maker, self.decision_makers)
        if self.event == "event":  # no word is given
            found["the event"] = "the event"
        # In the neutral words a yes accepts; the synonyms of the policy metrics stay.
        if found["accepted"] == "accepted" and found["refused"] in ("refused", "not accepted"):
            plain = {name: word for name, word in found.items() if name == word}
            found = {name: word for name, word in found.items() if name not in plain}
            if self.event == "event":
                found = {name: word for name, word in found.items() if not name.startswith("failure")}
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # "the accepted" alone, not "the accepted cases"; "the event", not "the event 'yes'".
        alone = r"(?! (?:case|one|row|share|rate|population))"
        limits = {"the accepted": alone, "the refused": alone, "the event": r"(?! ?$)"}
        phrases = "|".join(
            re.escape(each) + limits.get(each, "") for each in sorted(self._spoken, key=len, reverse=True)
        )
        return re.compile(
            rf"(?P<article>\b[Aa]n? )?(?<![\w“-])(?<!worst )(?<!best )(?P<phrase>(?i:{phrases}))(?![\w-])"
        )

    def _turned(self, found: re.Match[str]) -> str:
        word = self._spoken[found["phrase"].lower()]
        before = found["article"] or ""
        if before and word.startswith("no "):
            before = ""
        elif before:
            before = f"{before[0]}{article(word)[1:]} "
        capital = (found["article"] or found["phrase"])[0].isupper()
        spoken = before + word
        return spoken[:1].upper() + spoken[1:] if capital else spoken


# After these words a verb stands in its base form.
_BEFORE_INFINITIVE = ("would", "could", "should", "can", "will", "may", "might", "must")
_NEUTRAL_YES = {
    ACCEPT: {
        "yes": "accept",
        "yes_past": "accepted",
        "yes_noun": "acceptance",
        "no": "refuse",
        "no_past": "refused",
        "no_noun": "refusal",
    },
    INSPECT: {"yes": "inspect", "yes_past": "inspected", "yes_noun": "inspection"},
}
# A neutral word that was shortened is no word of any domain.
_CUT = re.compile(r"\s+\b(?:acc|ref)\w*…")
_QUOTED = re.compile(
    r"(“[^”]*”|`[^`]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|&#39;.*?&#39;|--[\w-]+(?: accept\b)?)"
)


def _by_quotation(text: str) -> list[tuple[bool, str]]:
    """Parts of a text, and whether each is quoted (a name of the user, an option)."""
    return [(number % 2 == 1, part) for number, part in enumerate(_QUOTED.split(text))]


def article(word: str) -> str:
    """The indefinite article.

    Examples
    --------
    >>> article("application"), article("claim"), article("hour"), article("user")
    ('an', 'a', 'an', 'a')
    """
    sounds_open = re.match(r"[aeiou]|hour|honest", word.lower()) and not re.match(r"uni|use|eu", word.lower())
    return "an" if sounds_open else "a"


def _past(verb: str) -> str:
    """Past participle of a regular verb.

    Examples
    --------
    >>> _past("approve"), _past("deny"), _past("test")
    ('approved', 'denied', 'tested')
    """
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if re.search(r"[^aeiou]y$", verb) else f"{verb}ed"


def _gerund(verb: str, past: str) -> str:
    """The form in -ing; a doubled consonant is taken from the participle.

    Examples
    --------
    >>> _gerund("approve", "approved"), _gerund("admit", "admitted"), _gerund("deny", "denied")
    ('approving', 'admitting', 'denying')
    """
    return f"{past[:-2]}ing" if past.endswith("ed") and not past.endswith("ied") else f"{verb}ing"


def _forms(neutral: str, verb: str, past: str, noun: str) -> dict[str, str]:
    """Forms of a neutral verb, and those of the verb that replaces it."""
    stem = neutral.removesuffix("e")
    third = plural(verb) if not verb.endswith("s") else f"{verb}es"
    return {
        neutral: verb,
        f"{neutral}s": third,
        f"{stem}ed": past,
        f"{stem}ing": _gerund(verb, past),
        f"{stem}al": noun,
    }


def _rates(yes: str, noun: str, one: str, many: str) -> dict[str, str]:
    """Words for "lenient" and "strict" where a yes inspects: a lenient inspector would inspect less."""
    often, third = f"{noun} rate", f"{yes}es" if yes.endswith("s") else plural(yes)
    return {
        "leniency": often,
        "leniencies": f"{often}s",
        "full leniency": f"a {often} of one",
        "common strictness": f"common readiness to {yes}",
        "more lenient decision-maker": f"{one} who {third} more",
        "more lenient decision-makers": f"{many} who {yes} more",
        "a more lenient one": f"one who {third} more",
        "more lenient ones": f"those who {yes} more",
        "stricter decision-maker": f"{one} who {third} less",
        "stricter decision-makers": f"{many} who {yes} less",
        "a stricter one": f"one who {third} less",
        "stricter ones": f"those who {yes} less",
        **dict.fromkeys(
            ("lenient and strict decision-makers", "strict and lenient decision-makers"),
            f"{many} who {yes} more and less",
        ),
        "strict and lenient ones": f"those who {yes} more and less",
        "the most lenient decision-maker": f"the {one} who {third} most",
        "the most and the least lenient decision-maker": f"the {many} who {yes} most and least",
        "decision-makers ten points more lenient": f"{many} who {yes} ten points more",
        "how lenient its decision-maker is": f"how often its {one} {third}",
        "equally lenient": f"alike in how often they {yes}",
    }


PRESETS = {
    "neutral": Vocabulary(),
    "lending": Vocabulary(
        "application",
        decision_maker="loan officer",
        event="default",
        yes="approve",
        yes_noun="approval",
        no="decline",
        no_noun="rejection",
        means=ACCEPT,
    ),
    "bail": Vocabulary(
        "defendant",
        decision_maker="judge",
        event="failure to appear",
        events="failures to appear",
        yes="release",
        yes_noun="release",
        no="detain",
        no_noun="detention",
        means=ACCEPT,
    ),
    "hiring": Vocabulary(
        "applicant",
        decision_maker="recruiter",
        event="bad hire",
        yes="hire",
        yes_noun="hiring",
        no="reject",
        no_noun="rejection",
        means=ACCEPT,
    ),
    "medical": Vocabulary(
        "patient",
        decision_maker="doctor",
        event="positive finding",
        yes="test",
        yes_noun="testing",
        means=INSPECT,
    ),
    "inspection": Vocabulary(
        decision_maker="inspector", event="violation", yes="inspect", yes_noun="inspection", means=INSPECT
    ),
    "audit": Vocabulary(
        "return", decision_maker="auditor", event="misstatement", yes="audit", yes_noun="audit", means=INSPECT
    ),
    "insurance": Vocabulary(
        "claim",
        decision_maker="adjuster",
        event="fraud",
        yes="investigate",
        yes_noun="investigation",
        means=INSPECT,
    ),
    "moderation": Vocabulary(
        "post", decision_maker="moderator", event="violation", yes="review", yes_noun="review", means=INSPECT
    ),
}
