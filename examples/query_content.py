"""Query the content of messages with SQL: the table `conversation_message`, from SQLAlchemy.

    python examples/query_content.py postgresql://localhost/talks

Needs `pip install 'hansard[postgres]' sqlalchemy`. The table is filled by `ledger.project()` or `hansard project`, and
only then: run it as often as the queries need, it adds what is new.
"""

from __future__ import annotations

import sys
from datetime import datetime

from sqlalchemy import Integer, create_engine, func, select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import hansard
from hansard.model import Message, TextPart, ToolCallPart, ToolResultPart


class Base(DeclarativeBase):
    pass


class ConversationMessage(Base):
    __tablename__ = "conversation_message"

    tenant: Mapped[int] = mapped_column(primary_key=True)
    thread_id: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str]
    type: Mapped[str]
    content: Mapped[dict[str, object]] = mapped_column(JSONB)
    created_at: Mapped[datetime]
    resource_id: Mapped[str | None]
    position: Mapped[int]


def talk(ledger: hansard.Ledger) -> None:
    """Two conversations about the weather."""
    for city, celsius in (("Oslo", 7), ("Rome", 21)):
        thread = ledger.create_thread(f"weather-{city.lower()}", resource_id="ann")
        call = ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": city})
        result = ToolResultPart(tool_call_id="c1", tool_name="weather", output={"celsius": celsius})
        answer = TextPart(text=f"It is {celsius} degrees in {city}.")
        asked = Message.user(f"How warm is it in {city}?")
        for message in (asked, Message.assistant(call), Message.tool(result), Message.assistant(answer)):
            ledger.append(thread.id, message)


def main(url: str) -> None:
    with hansard.open(url) as ledger:
        talk(ledger)
        print(ledger.project())

    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    message = ConversationMessage
    part = func.jsonb_array_elements(message.content["parts"]).table_valued("value", joins_implicitly=True)
    value = part.c.value.cast(JSONB)
    with Session(engine) as session:
        # A role that row-level security binds sees the rows of the tenant it names; '' is the default tenant.
        tenant = "(select tenant::text from tenant where name = '')"
        session.execute(text(f"select set_config('hansard.tenant', {tenant}, true)"))
        celsius = value["result"]["celsius"].astext.cast(Integer)
        warm = select(message.thread_id, celsius).where(value["toolName"].astext == "weather", celsius > 10)
        for thread_id, degrees in session.execute(warm):
            print(f"{thread_id}: {degrees} degrees")
        roles = select(message.role, func.count()).group_by(message.role).order_by(message.role)
        for role, count in session.execute(roles):
            print(f"{role}: {count}")
    engine.dispose()


if __name__ == "__main__":
    main(sys.argv[1])
