"""What waits for a person: a tool call, an agent's turn, code, or the user's next message.

`decision_panel` draws the middle pane. Panels return a decision or None; what people typed is kept by `app.forms.widget_store`.
"""
