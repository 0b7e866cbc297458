"""Tells those who run the operator what backlogs have lost to the caps: POSTs to a webhook (`semantics.md §7`).

An alert is a convenience, the row and the condition in status are the record. So nothing waits for the receiver: what
is to be told waits here, one alert per schedule and at most `LONGEST_QUEUE` of them; what cannot be delivered after
some tries is dropped, counted and logged. What waits when the process is killed is lost.

A schedule whose backlog goes on losing slots is told of at once and then once an hour at most, all of it together.
"""

import asyncio
import contextlib
import email.utils
import ssl
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import httpx
import structlog

from cronschedule.api.alerts import Alert, AlertList, joined
from cronschedule.api.names import OPERATOR
from cronschedule.api.shapes import dump
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.kube import backoff
from cronschedule.runtime.settings import Webhook

LINGER = 1.0
"""Seconds that the first alert waits for others, to go with them."""
QUIET = 3600.0
"""Seconds for which a schedule that was told of is not told of again."""
LARGEST_BATCH = 100
LONGEST_QUEUE = 1000
TRIES = 6
LONGEST_WAIT = 300.0
"""Seconds between two tries, at most, whatever Retry-After says."""
MOST_READ = 4096
"""Bytes of an answer that are read; only those of a refusal are, for the log."""
LONGEST_DRAIN = 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    """A POST that did not arrive: why, and whether trying again may help, and not before when."""

    why: str
    may_heal: bool
    retry_after: float | None = None


class Alerts:
    """`tell` never waits; `run()` delivers, until cancelled. Without a webhook both do nothing."""

    def __init__(self, webhook: Webhook | None, *, clock: Clock, random: Random) -> None:
        self.transport: httpx.AsyncBaseTransport | None = None
        """What POSTs go through instead of the network."""
        self.counts: Counter[str] = Counter()
        """alert.sent, alert.retried (POSTs), alert.dropped."""
        self._webhook = webhook
        self._clock = clock
        self._random = random
        self._waiting: dict[str, Alert] = {}
        self._sending: list[Alert] = []
        self._quiet_until: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = False

    def __len__(self) -> int:
        """How many alerts wait to be sent."""
        return len(self._waiting)

    def tell(self, alert: Alert) -> None:
        """Send it soon, with what else is to be told of the same schedule."""
        if self._webhook is None:
            return
        known = self._waiting.get(alert.uid)
        if known is None and len(self._waiting) >= LONGEST_QUEUE:
            self._drop([alert], "too many alerts wait to be sent")
            return
        self._waiting[alert.uid] = joined(known, alert) if known is not None else alert
        self._idle.clear()
        self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        if self._webhook is None:
            return
        while True:
            await self._until_due()
            if not self._draining:
                await asyncio.sleep(LINGER)
            self._sending = self._take(self._clock.monotonic())
            try:
                await self._deliver(self._webhook, self._sending)
            except Exception as error:  # whatever it is, it must not end the operator
                log.exception("alert.broken")
                self._give_up(self._sending, type(error).__name__)
            self._sending = []
            if not self._waiting:
                self._idle.set()

    async def drain(self) -> None:
        """Send what waits, held back or not, for some seconds at most."""
        self._draining = True
        self._quiet_until.clear()
        self._changed.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_DRAIN):
                await self._idle.wait()
        self._drop([*self._sending, *self._waiting.values()], "the operator stops")
        self._waiting.clear()

    async def _until_due(self) -> None:
        """Wait until there is something to send."""
        while True:
            self._changed.clear()
            now = self._clock.monotonic()
            due = min((self._quiet_until.get(uid, now) for uid in self._waiting), default=None)
            if due is not None and due <= now:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(due - now if due is not None else None):
                    await self._changed.wait()

    def _take(self, now: float) -> list[Alert]:
        """The next batch; its schedules are not told of again for a while."""
        self._quiet_until = {uid: until for uid, until in self._quiet_until.items() if until > now}
        due = [uid for uid in self._waiting if uid not in self._quiet_until][:LARGEST_BATCH]
        self._quiet_until |= dict.fromkeys(due, now + QUIET)
        return [self._waiting.pop(uid) for uid in due]

    async def _deliver(self, webhook: Webhook, batch: list[Alert]) -> None:
        """Try until the receiver has it, or is taken for dead."""
        told = AlertList(items=tuple(batch))
        for attempt in range(TRIES):
            failure = await self._post(webhook, told)
            if failure is None:
                self.counts["alert.sent"] += len(batch)
                log.info("alert.sent", alerts=len(batch), key=told.key)
                return
            if not failure.may_heal or attempt == TRIES - 1:
                break
            self.counts["alert.retried"] += 1
            wait = backoff(attempt, random=self._random, retry_after=failure.retry_after, cap=LONGEST_WAIT)
            log.warning("alert.retried", alerts=len(batch), failure=failure.why, wait=round(wait, 1))
            await asyncio.sleep(wait)
        assert failure is not None
        self._give_up(batch, failure.why)

    def _give_up(self, batch: list[Alert], why: str) -> None:
        """What this receiver has not got is not held back the next time."""
        for alert in batch:
            self._quiet_until.pop(alert.uid, None)
        self._drop(batch, why)

    def _drop(self, alerts: Sequence[Alert], why: str) -> None:
        self.counts["alert.dropped"] += len(alerts)
        for alert in alerts:
            log.warning(
                "alert.dropped",
                namespace=alert.namespace,
                schedule=alert.schedule,
                message=alert.message,
                failure=why,
            )

    async def _post(self, webhook: Webhook, told: AlertList) -> _Failure | None:
        """One POST; `None` when the receiver has taken it. The time-out is for all of it."""
        try:
            async with asyncio.timeout(webhook.timeout):
                trust = await _trust(webhook)
                client = httpx.AsyncClient(
                    verify=trust,
                    trust_env=False,
                    follow_redirects=False,
                    timeout=webhook.timeout,
                    transport=self.transport,
                )
                async with (
                    client,
                    client.stream(
                        "POST", webhook.url, json=dump(told), headers=_headers(webhook, told)
                    ) as answer,
                ):
                    return await self._judge(answer)
        except TimeoutError:
            return _Failure(why=f"no answer within {webhook.timeout} s", may_heal=True)
        except (httpx.HTTPError, OSError, ValueError) as error:
            return _Failure(why=f"{type(error).__name__}: {error}"[:256], may_heal=True)

    async def _judge(self, answer: httpx.Response) -> _Failure | None:
        if answer.is_success:
            return None
        said = (await _beginning(answer)).decode(errors="replace")
        why = f"{answer.status_code}: {said}"[:256]
        if answer.is_redirect:
            why = f"{answer.status_code}: redirects are not followed"
        may_heal = answer.is_server_error or answer.status_code in (408, 429)
        return _Failure(why=why, may_heal=may_heal, retry_after=self._wait_asked_for(answer))

    def _wait_asked_for(self, answer: httpx.Response) -> float | None:
        """Seconds that Retry-After asks for, which may be a number or a date."""
        text = answer.headers.get("Retry-After", "")
        if text.isdecimal():
            return min(float(text), LONGEST_WAIT)
        try:
            moment = email.utils.parsedate_to_datetime(text).timestamp()
        except (ValueError, OverflowError):
            return None
        return max(0.0, moment - self._clock.precise())


async def _beginning(answer: httpx.Response) -> bytes:
    """The first bytes of an answer as they come, not unpacked."""
    read = b""
    async for chunk in answer.aiter_raw(MOST_READ):
        read += chunk
        if len(read) >= MOST_READ:
            break
    return read[:MOST_READ]


async def _trust(webhook: Webhook) -> ssl.SSLContext:
    """Whom to believe that they are the receiver: those whom the CA file vouches for, or else the system's."""
    if not webhook.url.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # believes nobody, and is not asked
    # It reads some hundred certificates, which takes 20 ms.
    return await asyncio.to_thread(ssl.create_default_context, cafile=webhook.ca_file)


def _headers(webhook: Webhook, told: AlertList) -> dict[str, str]:
    headers = {"Idempotency-Key": told.key, "User-Agent": OPERATOR}
    if webhook.token_file is not None:
        token = Path(webhook.token_file).read_text().strip()
        if not token.isascii() or not token.isprintable() or not token or " " in token:
            raise ValueError("the token file holds no token")  # and the text goes into no log
        headers["Authorization"] = f"Bearer {token}"
    return headers
